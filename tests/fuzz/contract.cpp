// Any bytes as a contract: refused by name, or certified so that every resolver answers.
#include "scoring/contract.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::scoring;

namespace {
template <class T>
void answers(const T& result) {
  if (!result) ENSURE(!result.refusal().code.empty() && !result.refusal().detail.empty());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto contract = parse_contract(std::string_view(reinterpret_cast<const char*>(data), size));
  answers(contract);
  if (!contract) return 0;
  answers(resolve_scored_regime(*contract));
  answers(resolve_live_control_leg(*contract));
  answers(resolve_paired_flow_retired(*contract));
  answers(resolve_official_baseline(*contract));
  answers(resolve_reference_model_pin(*contract));
  answers(resolve_hidden_golden_pin(*contract));
  answers(resolve_permitted_draft_depths(*contract));
  answers(resolve_track_id(*contract, std::nullopt, std::nullopt));
  answers(arm_gate(true, *contract));
  answers(refuse_unsupported(*contract));
  if (const auto weights = resolve_scoring_weights(*contract)) {
    ENSURE(weights->decode + weights->prefill > 0);
  }
  if (const auto window = resolve_window_shape(*contract)) ENSURE(window->correctness_steps > 0);
  if (const auto model = resolve_model_shape(*contract)) ENSURE(!model->golden_model_type.empty());
  if (const auto pairs = resolve_official_pairs(*contract)) ENSURE(*pairs > 0);
  if (const auto floors = resolve_speedup_floors(*contract)) ENSURE(floors->decode > 0);
  if (const auto bands = resolve_acceptance_bands(*contract)) {
    ENSURE(bands->prefill_up_tolerance >= 0 && std::isfinite(bands->decode_down_tolerance));
  }
  return 0;
}
