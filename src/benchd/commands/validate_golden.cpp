// `benchd validate-golden`: would a run accept this golden?
#include <cstdio>

#include "base/refusals.h"
#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/goldens.h"
#include "benchd/iterate_options.h"
#include "benchd/stop.h"
#include "benchd/track.h"

namespace assay::benchd {

namespace {

int reject(const cli::Invocation& invocation, std::string_view path, std::string_view stage,
           const Refusal& refusal) {
  if (invocation.json()) return invocation.refuse(refusal, cli::kJudgedNo);
  std::printf("%s\n", cat("REJECT ", path, " (", stage, "): ", refusal.text()).c_str());
  return cli::kJudgedNo;
}

int accept(const cli::Invocation& invocation, std::string_view path,
           const scoring::LoadedGolden& loaded) {
  const size_t cases = loaded.golden.cases.size();
  const size_t gate_cases = loaded.golden.total_correctness_case_count() - cases;
  if (invocation.json()) {
    const json::Value result = json::Value::object({{"ok", true},
                                                    {"golden", path},
                                                    {"sha256", loaded.sha256},
                                                    {"bytes", loaded.size_bytes},
                                                    {"cases", cases},
                                                    {"gate_cases", gate_cases}});
    std::printf("%s\n", json::write(result).c_str());
  } else {
    std::printf("%s\n", cat("ACCEPT ", path, " (sha256=", loaded.sha256, ", cases=", cases,
                            ", gate_cases=", gate_cases, ")")
                            .c_str());
  }
  return cli::kOk;
}

int run_validate_golden(const cli::Invocation& invocation) {
  const auto world = runner::make_real_world();
  EnvironmentReader environment(world->environment());
  const auto track =
      load_track(*world, environment, *invocation.text("--contract"), invocation.text("--track"));
  if (!track) return invocation.refuse(track.refusal(), cli::kUsage);
  if (invocation.has("--golden-sha256") != invocation.has("--golden-bytes")) {
    return invocation.refuse_usage("--golden-sha256 and --golden-bytes go together");
  }

  const std::string path = *invocation.text("--golden");
  const auto bytes = world->read_file(path);
  if (!bytes) return invocation.refuse(bytes.refusal(), cli::kInputOutput);
  if (const auto sha256 = invocation.text("--golden-sha256")) {
    const scoring::IntegrityPin pin{*sha256, *invocation.u64("--golden-bytes")};
    if (const Status pinned = scoring::check_integrity_pin(*bytes, pin); !pinned) {
      return reject(invocation, path, "integrity pin", pinned.refusal());
    }
  }
  auto requirements =
      scoring::golden_requirements(track->model, track->window, track->window.correctness_steps);
  requirements.reference_model_pin = track->reference_pin;
  const auto loaded = scoring::load_golden(*bytes, requirements);
  if (!loaded) return reject(invocation, path, "schema", loaded.refusal());
  if (!invocation.has("--gates-only")) {
    if (const Status timed = scoring::require_benchmark(loaded->golden); !timed) {
      return reject(invocation, path, "schema", timed.refusal());
    }
  }
  return accept(invocation, path, *loaded);
}

}  // namespace

cli::Command validate_golden_command() {
  using cli::Arity;
  return {
      .name = "validate-golden",
      .summary = "Check a golden's pin, form and identity against a contract.",
      .example =
          "benchd validate-golden --golden tracks/smollm2/goldens/lighthouse.golden.json "
          "--contract tracks/smollm2/contract.json",
      .flags = {{{"--golden"}, Arity::value, "FILE", "The golden.", true},
                {{"--contract"}, Arity::value, "FILE", "The track's contract.", true},
                {{"--track"}, Arity::value, "ID", "Track id, when it must be this one."},
                {{"--golden-sha256"}, Arity::value, "HEX", "Digest the file must have."},
                {{"--golden-bytes"},
                 Arity::value,
                 "N",
                 "Size the file must have.",
                 false,
                 cli::Type::u64},
                {{"--gates-only"}, Arity::toggle, "", "Accept a golden without a timed block."}},
      .run = run_validate_golden,
      .notes =
          "Exit: 0 ACCEPT, 1 REJECT, 2 wrong command line or contract, 3 the golden cannot "
          "be read."};
}

}  // namespace assay::benchd
