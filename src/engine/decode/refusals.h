// Every refusal of decode.
#pragma once

#include "base/refusal.h"

namespace assay::engine::decode {

inline constexpr RefusalInfo kContext{
    "DECODE-CONTEXT", "The tokens do not fit into the context.",
    "Shorten the prompt or the generation, or raise --ctx up to the model's context length."};
inline constexpr RefusalInfo kContextSize{
    "DECODE-CONTEXT-SIZE", "The requested context is zero or longer than the model was made for.",
    "Ask for a context between 1 and the model's context length."};
inline constexpr RefusalInfo kEmpty{"DECODE-EMPTY", "There is no token to evaluate.",
                                    "Give a prompt of at least one token."};
inline constexpr RefusalInfo kTokenRange{"DECODE-TOKEN-RANGE",
                                         "A token id lies outside the model's vocabulary.",
                                         "Tokenize the text with this model's own tokenizer."};
inline constexpr RefusalInfo kStateUndefined{
    "DECODE-STATE-UNDEFINED",
    "An earlier evaluation failed, so the session's state is not defined.",
    "Reset the session before using it again."};
inline constexpr RefusalInfo kLogitsNotFinite{
    "DECODE-LOGITS-NOT-FINITE", "The model produced a logit that is not a finite number.",
    "The weights are damaged or overflow: check the file's SHA-256, or use another quantisation."};
inline constexpr RefusalInfo kSampling{"DECODE-SAMPLING",
                                       "A sampling parameter lies outside its range.",
                                       "Give a value inside the range that the message names."};

inline constexpr const RefusalInfo* kDecodeRefusals[] = {
    &kContext,        &kContextSize,     &kEmpty,   &kTokenRange,
    &kStateUndefined, &kLogitsNotFinite, &kSampling};

}  // namespace assay::engine::decode
