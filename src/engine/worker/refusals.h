// Every refusal of engine/worker.
#pragma once

#include "base/refusal.h"

namespace assay::engine::worker {

inline constexpr RefusalInfo kTokenRange{
    "ENGINE-TOKEN-RANGE", "A token id on the wire lies outside the model's vocabulary.",
    "Tokenize with the tokenizer of the model that the engine has loaded."};

inline constexpr const RefusalInfo* kEngineWorkerRefusals[] = {&kTokenRange};

}  // namespace assay::engine::worker
