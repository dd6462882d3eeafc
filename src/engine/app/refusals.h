// Every refusal of engine/app.
#pragma once

#include "base/refusal.h"

namespace assay::engine::app {

inline constexpr RefusalInfo kNoDraftHead{
    "DECODE-NO-DRAFT-HEAD", "A draft depth was asked for, but no draft head is loaded.",
    "Leave out --mtp-depth, or use a model with a draft head."};
inline constexpr RefusalInfo kTextTooShort{"PERPLEXITY-TEXT-TOO-SHORT",
                                           "The text does not fill one chunk of the context.",
                                           "Give a longer text or a smaller --ctx."};

inline constexpr const RefusalInfo* kEngineAppRefusals[] = {&kNoDraftHead, &kTextTooShort};

}  // namespace assay::engine::app
