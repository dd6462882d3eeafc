// benchd as one table of verbs.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/refusals.h"

namespace assay::benchd {

namespace {

struct LaterVerb {
  std::string_view name;
  std::string_view summary;
};

// Names that scripts may call, so that they get an answer instead of a guess.
constexpr LaterVerb kLaterVerbs[] = {
    {"validate-weights", "Check a folder of weights."},
    {"parity-diff", "Compare two score files."},
    {"prefill-decompose", "Fit the cost of a prefill against its size."},
    {"measure-job", "Measure pairs over a pool of prompts."},
    {"overlay-timing", "Merge a gates-only score with a job's timings."},
    {"transform", "Transform weights."},
    {"submit", "Submit an engine."},
};

}  // namespace

std::vector<cli::Command> later_commands() {
  std::vector<cli::Command> commands;
  for (const LaterVerb& verb : kLaterVerbs) {
    cli::Command command;
    command.name = verb.name;
    command.summary = cat(verb.summary, " (not offered by this version)");
    command.hidden = true;
    command.run = [](const cli::Invocation& invocation) {
      return invocation.refuse(Refusal(kVerbNotOffered, cat("benchd ", invocation.command().name,
                                                            ": not implemented in this wave")),
                               cli::kUsage);
    };
    commands.push_back(std::move(command));
  }
  return commands;
}

std::vector<std::string> benchd_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const auto is_later = [&arguments](const LaterVerb& verb) {
    return !arguments.empty() && arguments.front() == verb.name;
  };
  if (std::none_of(std::begin(kLaterVerbs), std::end(kLaterVerbs), is_later)) return arguments;
  std::vector<std::string> kept = {arguments.front()};
  for (const std::string& argument : arguments) {
    if (argument == "--json" || argument == "--help" || argument == "-h") kept.push_back(argument);
  }
  return kept;
}

cli::Program benchd_program() {
  cli::Program program;
  program.name = "benchd";
  program.summary = "The judge: measures an engine against its reference, and seals the score.";
  program.commands = {
      iterate_command(),      official_command(),        calibrate_baseline_command(),
      correctness_command(),  validate_golden_command(), weights_digest_command(),
      harness_hash_command(), score_verify_command(),    explain_command()};
  for (cli::Command& command : later_commands()) program.commands.push_back(std::move(command));
  program.versions = {
      {"engine protocol", "1 (v1, v1.1, v1.2)"}, {"golden", "1"}, {"calibration", "3"}};
  return program;
}

}  // namespace assay::benchd
