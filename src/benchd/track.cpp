#include "benchd/track.h"

#include "base/text.h"

namespace assay::benchd {

namespace {

runner::Duration seconds(double value) {
  return std::chrono::duration_cast<runner::Duration>(std::chrono::duration<double>(value));
}

}  // namespace

Result<Track> load_track(runner::World& world, EnvironmentReader& environment,
                         const std::filesystem::path& contract_path,
                         const std::optional<std::string>& track_flag) {
  TRY(bytes, world.read_file(contract_path));
  auto contract = scoring::parse_contract(bytes);
  if (!contract) return at(contract_path.string(), std::move(contract).refusal());
  const std::optional<std::string> named = environment.read("MLXFAST_QWEN_MTP_TRACK_ID");
  TRY(id, scoring::resolve_track_id(*contract, track_flag, named));
  TRY(window, scoring::resolve_window_shape(*contract));
  TRY(model, scoring::resolve_model_shape(*contract));
  TRY(pin, scoring::resolve_reference_model_pin(*contract));
  return Track{*std::move(contract), std::move(id), window, std::move(model), std::move(pin)};
}

runner::GatePlan gate_plan(const Track& track, scoring::Platform platform, bool official,
                           bool operator_off) {
  const scoring::Contract& contract = track.contract;
  runner::GatePlan plan;
  plan.platform = platform;
  plan.operator_off = operator_off;
  plan.official = official;
  plan.thermal_reader = contract.thermal_reader.value_or(true);
  plan.load_max = contract.quiescence.load_max;
  plan.gpu_max = contract.quiescence.gpu_max;
  plan.quiescence_timeout = seconds(contract.quiescence.timeout_seconds);
  plan.cool_limit_c = contract.cool_limit_c.value_or(
      scoring::platform_cool_limit_c(platform).value_or(plan.cool_limit_c));
  return plan;
}

}  // namespace assay::benchd
