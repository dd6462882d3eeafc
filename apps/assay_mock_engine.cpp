// assay-mock-engine: deterministic engines without a model, for transcripts, goldens and for
// measuring the harness itself. Unknown arguments of runtime-worker are ignored, as a judge may add
// some.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/program.h"
#include "worker/mock.h"
#include "worker/refusals.h"
#include "worker/serve.h"

namespace {

using namespace assay;

struct MockChoice {
  std::string mock = "m1";
  int64_t vocabulary = 32000;
  bool strict_v1 = false;
};

// Flags win over the environment, which a judge's child process may be given instead.
Result<MockChoice> choose(const std::vector<std::string>& arguments) {
  MockChoice choice;
  std::string vocabulary;
  const auto from_environment = [](const char* name, std::string& value) {
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') value = text;
  };
  from_environment("ASSAY_MOCK", choice.mock);
  from_environment("ASSAY_MOCK_VOCAB", vocabulary);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--strict-v1") choice.strict_v1 = true;
    if (arguments[i] != "--mock" && arguments[i] != "--vocab") continue;
    if (i + 1 == arguments.size()) {
      return Refusal(worker::kCommand, cat(arguments[i], " needs a value"));
    }
    (arguments[i] == "--mock" ? choice.mock : vocabulary) = arguments[i + 1];
    ++i;
  }
  if (choice.mock != "m1" && choice.mock != "context") {
    return Refusal(worker::kCommand, cat("mock `", choice.mock, "` is not m1 or context"));
  }
  if (!vocabulary.empty()) {
    const auto parsed = parse_int64(vocabulary);
    if (!parsed || *parsed < 8) {
      return Refusal(worker::kCommand,
                     cat("the vocabulary is `", vocabulary, "`, expected an integer from 8"));
    }
    choice.vocabulary = *parsed;
  }
  return choice;
}

Status run_worker(int argc, char** argv) {
  TRY(channel, worker::StdioChannel::take());
  TRY(command, worker::parse_worker_command(argc, argv));
  TRY(choice, choose(command.rest));
  std::unique_ptr<worker::Engine> engine;
  if (choice.mock == "context") {
    engine = std::make_unique<worker::ContextMock>(choice.vocabulary);
  } else {
    engine = std::make_unique<worker::AdapterMock>();
  }
  worker::ServeOptions options;
  options.speculative = !choice.strict_v1;
  if (const char* nonce = std::getenv("ASSAY_MOCK_NONCE")) options.nonce = nonce;
  return worker::serve_stdio(*engine, channel, options);
}

int worker_main(int argc, char** argv) {
  const Status done = run_worker(argc, argv);
  if (done) return cli::kOk;
  std::cerr << "assay-mock-engine: " << done.refusal().text() << '\n';
  return done.refusal().code == worker::kCommand.code ? cli::kUsage : cli::kInputOutput;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const bool help = std::find(arguments.begin(), arguments.end(), "--help") != arguments.end();
  if (!arguments.empty() && arguments[0] == "runtime-worker" && !help)
    return worker_main(argc, argv);

  const cli::Program program{
      .name = "assay-mock-engine",
      .summary = "Engines without a model that speak the Engine Protocol, for tests and trials.",
      .commands = {{.name = "runtime-worker",
                    .summary = "Say hello on stdout, then answer each request line of stdin.",
                    .example = "assay-mock-engine runtime-worker --mock context --vocab 49152",
                    .flags = {{.names = {"--mock"},
                               .value_name = "NAME",
                               .help = "m1: tokens follow from the last input; context: from all "
                                       "tokens so far. Also ASSAY_MOCK.",
                               .choices = {"m1", "context"}},
                              {.names = {"--vocab"},
                               .value_name = "N",
                               .help = "Vocabulary of the context mock, 32000 if not given. Also "
                                       "ASSAY_MOCK_VOCAB.",
                               .type = cli::Type::i64},
                              {.names = {"--strict-v1"},
                               .arity = cli::Arity::toggle,
                               .help = "Advertise no capability and refuse specs and free runs."},
                              {.names = {"--weights"}, .value_name = "PATH", .help = "Ignored."}},
                    .run = [&](const cli::Invocation&) { return worker_main(argc, argv); },
                    .notes = "Arguments that are not listed are ignored. ASSAY_MOCK_NONCE pins the "
                             "session's nonce."}},
      .versions = {{"engine protocol", "1 (v1, v1.1)"}}};
  return cli::run_program(program, argc, argv);
}
