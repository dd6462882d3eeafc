#include "benchd/goldens.h"

#include "base/text.h"
#include "benchd/refusals.h"
#include "scoring/refusals.h"

namespace assay::benchd {

Result<std::vector<scoring::IntegrityPin>> pair_pins(const GoldenPins& pins, size_t goldens,
                                                     std::string_view flag) {
  std::vector<scoring::IntegrityPin> paired;
  if (pins.sha256.empty() && pins.bytes.empty()) return paired;
  if (pins.sha256.empty() != pins.bytes.empty()) {
    return Refusal(kGoldenPinIncomplete,
                   cat(flag, "-sha256 and ", flag, "-bytes go together; only ", flag,
                       pins.bytes.empty() ? "-sha256" : "-bytes", " was given"));
  }
  if (pins.sha256.size() != goldens || pins.bytes.size() != goldens) {
    return Refusal(
        scoring::kGoldenCountMismatch,
        cat(flag, " was given ", goldens, " times, ", flag, "-sha256 ", pins.sha256.size(),
            " times, ", flag, "-bytes ", pins.bytes.size(), " times"));
  }
  for (size_t i = 0; i < goldens; ++i) paired.push_back({pins.sha256[i], pins.bytes[i]});
  return paired;
}

Result<std::vector<GoldenFile>> load_goldens(runner::World& world, const Track& track,
                                             const std::vector<std::filesystem::path>& paths,
                                             const std::vector<scoring::IntegrityPin>& pins,
                                             const GoldenArity& arity) {
  std::vector<GoldenFile> goldens;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string place = cat("golden ", i + 1, " of ", paths.size(), " on track `", track.id,
                                  "` (model type `", track.model.golden_model_type, "`)");
    scoring::GoldenRequirements requirements =
        scoring::golden_requirements(track.model, track.window, arity.required_steps);
    requirements.reference_model_pin = track.reference_pin;
    if (!pins.empty()) requirements.integrity_pin = pins[i];
    auto bytes = world.read_file(paths[i]);
    if (!bytes) return at(place, std::move(bytes).refusal());
    auto loaded = scoring::load_golden(*bytes, requirements);
    if (!loaded) return at(place, std::move(loaded).refusal());
    auto oracle = scoring::timed_oracle(loaded->golden, arity.decode_steps);
    if (!oracle) return at(place, std::move(oracle).refusal());
    goldens.push_back({scoring::prompt_name_of(paths[i].filename().string()),
                       std::move(loaded->golden), loaded->sha256, loaded->size_bytes,
                       *std::move(oracle)});
  }
  return goldens;
}

Result<scoring::LoadedGolden> load_conformance_golden(
    runner::World& world, const Track& track, const std::filesystem::path& path,
    const std::optional<scoring::IntegrityPin>& pin, uint32_t steps) {
  scoring::GoldenRequirements requirements =
      scoring::golden_requirements(track.model, track.window, steps);
  requirements.reference_model_pin = track.reference_pin;
  requirements.integrity_pin = pin;
  TRY(bytes, world.read_file(path));
  return scoring::load_golden(bytes, requirements);
}

Status check_control_goldens(const std::vector<GoldenFile>& goldens,
                             const std::vector<GoldenFile>& control) {
  if (control.empty()) return {};
  if (control.size() != goldens.size()) {
    return Refusal(scoring::kGoldenCountMismatch,
                   cat("--golden was given ", goldens.size(), " times, --control-golden ",
                       control.size(), " times"));
  }
  for (size_t i = 0; i < goldens.size(); ++i) {
    if (control[i].prompt != goldens[i].prompt) {
      return Refusal(scoring::kControlGoldenPromptMismatch,
                     cat("control golden ", i + 1, " is for prompt `", control[i].prompt,
                         "`, its golden for `", goldens[i].prompt, "`"));
    }
    if (control[i].oracle.prefill_prompt_tokens != goldens[i].oracle.prefill_prompt_tokens ||
        control[i].oracle.decode_seed_tokens != goldens[i].oracle.decode_seed_tokens) {
      return Refusal(scoring::kControlGoldenPromptMismatch,
                     cat("control golden ", i + 1,
                         " has another prompt text than its golden, under "
                         "the same name `",
                         goldens[i].prompt, "`"));
    }
  }
  return {};
}

}  // namespace assay::benchd
