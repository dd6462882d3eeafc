#include "engine/app/runtime_worker.h"

#include <cstdio>
#include <optional>
#include <string>

#include "base/text.h"
#include "cli/refusals.h"
#include "engine/app/load.h"
#include "engine/app/verbs.h"
#include "engine/decode/session.h"
#include "engine/worker/session_engine.h"
#include "worker/serve.h"

namespace assay::engine::app {

namespace {

void say(const std::string& text) {
  std::fprintf(stderr, "assay-engine: %s\n", text.c_str());
}

int refuse(const Refusal& refusal) {
  say(refusal.text());
  return exit_of(refusal);
}

// `--threads N` and `--ctx N` among the arguments that the SDK sets aside; others are not ours.
Result<uint64_t> number_of(const std::vector<std::string>& arguments, std::string_view flag) {
  uint64_t number = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != flag) continue;
    const auto value =
        i + 1 < arguments.size() ? parse_uint64(arguments[i + 1]) : std::optional<uint64_t>();
    if (!value || *value > INT32_MAX) {
      return Refusal(cli::kUsageInvalidValue, cat("flag ", flag, " requires a whole number"));
    }
    number = *value;
  }
  return number;
}

}  // namespace

int run_runtime_worker(int argc, char** argv) {
  // First of all: nothing that a library prints may reach the judge.
  auto channel = assay::worker::StdioChannel::take();
  if (!channel) return refuse(channel.refusal());
  const auto command = assay::worker::parse_worker_command(argc, argv);
  if (!command) return refuse(command.refusal());
  if (command->weights.empty()) {
    return refuse(Refusal(cli::kUsageMissingFlag, "missing required --weights"));
  }
  const auto threads = number_of(command->rest, "--threads");
  if (!threads) return refuse(threads.refusal());
  const auto n_ctx = number_of(command->rest, "--ctx");
  if (!n_ctx) return refuse(n_ctx.refusal());

  auto loaded = load(command->weights, static_cast<int>(*threads));
  if (!loaded) return refuse(loaded.refusal());
  for (const std::string& warning : loaded->warnings) say(warning);
  auto session = decode::Session::open(*loaded->model, *loaded->backend,
                                       {.n_ctx = static_cast<int64_t>(*n_ctx)});
  if (!session) return refuse(session.refusal());
  // The hello says "loaded": afterwards no timed window waits for the disk or maps weight pages.
  loaded->model->prefault();

  worker::SessionEngine engine(*loaded->model, *loaded->backend, *session);
  assay::worker::ServeOptions options;
  options.speculative = command->speculative;
  const auto served = assay::worker::serve_stdio(engine, *channel, options);
  return served ? cli::kOk : refuse(served.refusal());
}

cli::Command runtime_worker_command() {
  return {.name = "runtime-worker",
          .summary = "Speaks the Engine Protocol on standard input and output, for a judge.",
          .example = "assay-engine runtime-worker --weights model.gguf --speculative-protocol v1.1",
          .flags = {{.names = {"--weights"},
                     .value_name = "PATH",
                     .help = "A GGUF file, the first shard of a set, or a folder with one model.",
                     .required = true},
                    {.names = {"--speculative-protocol"},
                     .value_name = "v1.1",
                     .help = "Serve protocol v1.1: free runs and decode specs.",
                     .choices = {"v1.1"}},
                    {.names = {"--threads"},
                     .value_name = "N",
                     .help = "Worker threads; by default every CPU the process may run on.",
                     .type = cli::Type::u32},
                    {.names = {"--ctx"},
                     .value_name = "N",
                     .help = "Context in tokens; by default the model's, at most 32768.",
                     .type = cli::Type::u32}},
          .run = [](const cli::Invocation&) { return static_cast<int>(cli::kUsage); },
          .notes =
              "Loads, then says hello, then answers one line with one line until the input ends.\n"
              "Arguments that it does not know are ignored, as the protocol wants it.\n"
              "ASSAY_FORCE_ISA chooses a kernel table."};
}

}  // namespace assay::engine::app
