// `record-correctness-golden`: a program of its own, as scripts know it.
#include <cstdio>
#include <system_error>

#include "base/sha256.h"
#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/console.h"
#include "benchd/record.h"
#include "benchd/stop.h"
#include "runner/world.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

constexpr uint32_t kStepsDefault = 1024;
constexpr uint32_t kStepsMin = 64;
constexpr uint32_t kBenchmarkStepsDefault = 128;
constexpr uint32_t kBenchmarkStepsMin = 128;

// The mock is a program like any engine; it lies beside this one.
fs::path mock_beside_us() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / "assay-mock-engine";
}

runner::WorkerCommand worker_command(const cli::Invocation& invocation, const Track& track,
                                     Console& console) {
  std::error_code error;
  const fs::path root = fs::current_path(error);
  runner::WorkerCommand command;
  command.working_directory = root;
  command.on_stderr_line = [&console](std::string_view line) { console.line(line); };
  if (invocation.text_or("--backend", "live") == "mock") {
    const auto program = invocation.text("--worker-bin");
    command.executable = program ? root / *program : mock_beside_us();
    command.weights = root / invocation.text_or("--weights", ".");
    command.overrides = {{"ASSAY_MOCK", "context"},
                         {"ASSAY_MOCK_VOCAB", cat(track.model.vocab_size)}};
  } else {
    command.executable = root / *invocation.text("--worker-bin");
    command.weights = root / *invocation.text("--weights");
  }
  return command;
}

Result<RecordPlan> read_plan(runner::World& world, const cli::Invocation& invocation,
                             const Track& track, Console& console) {
  RecordPlan plan;
  plan.command = worker_command(invocation, track, console);
  const auto& files = invocation.all("--prompt-tokens");
  const auto& names = invocation.all("--case-name");
  for (size_t i = 0; i < files.size(); ++i) {
    TRY(bytes, world.read_file(files[i]));
    auto tokens = parse_prompt_tokens(bytes, track.model.seed_tokens, track.model.vocab_size);
    if (!tokens) return at(cat("`", files[i], "`"), std::move(tokens).refusal());
    plan.prompts.push_back({names[i], *std::move(tokens)});
  }
  plan.steps = invocation.u32("--steps").value_or(kStepsDefault);
  if (invocation.has("--benchmark-free-run")) {
    plan.benchmark_steps = invocation.u32("--benchmark-steps").value_or(kBenchmarkStepsDefault);
  }
  if (const auto repository = invocation.text("--model-provenance-repo")) {
    plan.provenance =
        scoring::ModelProvenance{*repository, *invocation.text("--model-provenance-rev")};
  } else if (track.reference_pin) {
    plan.provenance =
        scoring::ModelProvenance{track.reference_pin->repository, track.reference_pin->revision};
  }
  return plan;
}

// The bytes are accepted by the same reader that a run uses before they get their name.
Result<std::string> record(runner::World& world, const cli::Invocation& invocation,
                           Console& console) {
  EnvironmentReader environment(world.environment());
  TRY(track,
      load_track(world, environment, *invocation.text("--contract"), invocation.text("--track")));
  TRY(plan, read_plan(world, invocation, track, console));
  TRY(golden, record_golden(world, track, plan, console));
  std::string bytes = scoring::write_golden(golden);
  auto requirements =
      scoring::golden_requirements(track.model, track.window, track.window.correctness_steps);
  requirements.reference_model_pin = track.reference_pin;
  TRY_DO(scoring::load_golden(bytes, requirements));
  TRY_DO(world.write_file(*invocation.text("--out"), bytes));
  return bytes;
}

// What the flag table cannot say.
std::string usage_problem(const cli::Invocation& invocation) {
  if (invocation.all("--prompt-tokens").size() != invocation.all("--case-name").size()) {
    return "--prompt-tokens and --case-name go in pairs";
  }
  if (invocation.text_or("--backend", "live") == "live" &&
      (!invocation.has("--worker-bin") || !invocation.has("--weights"))) {
    return "--backend live needs --worker-bin and --weights";
  }
  if (invocation.u32("--steps").value_or(kStepsDefault) < kStepsMin) {
    return cat("--steps needs at least ", kStepsMin);
  }
  if (invocation.has("--benchmark-steps") && !invocation.has("--benchmark-free-run")) {
    return "--benchmark-steps belongs to --benchmark-free-run";
  }
  if (invocation.u32("--benchmark-steps").value_or(kBenchmarkStepsDefault) < kBenchmarkStepsMin) {
    return cat("--benchmark-steps needs at least ", kBenchmarkStepsMin);
  }
  if (invocation.has("--model-provenance-repo") != invocation.has("--model-provenance-rev")) {
    return "--model-provenance-repo and --model-provenance-rev go together";
  }
  return "";
}

int run_record(const cli::Invocation& invocation) {
  if (std::string problem = usage_problem(invocation); !problem.empty()) {
    return invocation.refuse_usage(std::move(problem));
  }
  const runner::InterruptGuard guard;
  const auto world = runner::make_real_world();
  Console console(invocation);
  const auto bytes = record(*world, invocation, console);
  console.clear_live();
  if (!bytes) return invocation.refuse(bytes.refusal(), exit_of(bytes.refusal(), cli::kJudgedNo));
  const std::string sha256 = sha256_hex(*bytes);
  console.line(cat("wrote ", *invocation.text("--out"), " (", bytes->size(), " bytes, sha256 ",
                   sha256, ")"));
  if (invocation.json()) {
    const json::Value result = json::Value::object({{"ok", true},
                                                    {"out", *invocation.text("--out")},
                                                    {"bytes", bytes->size()},
                                                    {"sha256", sha256}});
    std::printf("%s\n", json::write(result).c_str());
  }
  return cli::kOk;
}

}  // namespace

cli::Program record_correctness_golden_program() {
  using cli::Arity;
  using cli::Type;
  cli::Command command;
  command.summary = "Record a golden from the answers of an engine.";
  command.example =
      "record-correctness-golden --worker-bin build/release/bin/assay-engine --weights models/tiny "
      "--contract contract.json --prompt-tokens botany.ids --case-name botany --steps 129 "
      "--benchmark-free-run --out botany.golden.json";
  command.flags = {
      {{"--contract"}, Arity::value, "FILE", "The track's contract.", true},
      {{"--prompt-tokens"},
       Arity::repeatable,
       "FILE",
       "Token ids: a JSON array, or separated by white space or commas.",
       true},
      {{"--case-name"}, Arity::repeatable, "NAME", "Name of the case of that file.", true},
      {{"--out"}, Arity::value, "FILE", "Where to write the golden.", true},
      {{"--backend"},
       Arity::value,
       "NAME",
       "live: the engine of --worker-bin. mock: the mock beside this program.",
       false,
       Type::text,
       {"live", "mock"}},
      {{"--worker-bin"}, Arity::value, "PATH", "The engine's worker program."},
      {{"--weights"}, Arity::value, "DIR", "Folder of weights, or one GGUF file."},
      {{"--steps"},
       Arity::value,
       "N",
       "Expected tokens of each case (1024; at least 64).",
       false,
       Type::u32},
      {{"--benchmark-free-run"}, Arity::toggle, "", "Add the timed block, from the first case."},
      {{"--benchmark-steps"},
       Arity::value,
       "N",
       "Tokens of the timed block (128; at least 128).",
       false,
       Type::u32},
      {{"--track"}, Arity::value, "ID", "Track id, when it must be this one."},
      {{"--model-provenance-repo"},
       Arity::value,
       "NAME",
       "Repository of the model (the contract's target)."},
      {{"--model-provenance-rev"}, Arity::value, "HEX", "Its revision, 40 hex digits."}};
  command.run = run_record;
  command.notes =
      "The same inputs give the same bytes. Exit: 0 written, 1 refused, 2 wrong command line, 130 "
      "stopped.";
  cli::Program program;
  program.name = "record-correctness-golden";
  program.summary = command.summary;
  program.commands.push_back(std::move(command));
  program.versions = {{"engine protocol", "1 (v1, v1.1, v1.2)"}, {"golden", "1"}};
  return program;
}

}  // namespace assay::benchd
