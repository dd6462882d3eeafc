// Every refusal of model.
#pragma once

#include "base/refusal.h"

namespace assay::engine::model {

inline constexpr RefusalInfo kArchitectureUnknown{
    "MODEL-ARCHITECTURE-UNKNOWN",
    "The file is sound, but this build does not compute the architecture that it names.",
    "Use a model of one of the architectures that the message lists."};
inline constexpr RefusalInfo kFeatureUnsupported{
    "MODEL-FEATURE-UNSUPPORTED",
    "The model asks for a computation that this build does not do for its architecture.",
    "Use a model without the named feature; leaving it out would give wrong answers silently."};
inline constexpr RefusalInfo kRopeScaling{
    "MODEL-ROPE-SCALING", "The model scales its rotary positions in a way this build does not.",
    "Use a model whose `rope.scaling.type` is none or linear."};
inline constexpr RefusalInfo kGeometry{
    "MODEL-GEOMETRY", "Sizes in the metadata do not fit together.",
    "Convert the model again; the message names the keys and their values."};
inline constexpr RefusalInfo kAliasesDiffer{
    "MODEL-ALIASES-DIFFER", "Two keys that say the same thing have different values.",
    "Remove the wrong one of the two with a GGUF editor."};
inline constexpr RefusalInfo kVocabularyMismatch{
    "MODEL-VOCABULARY-MISMATCH", "The file states two different vocabulary sizes.",
    "Convert the model again; the message names both places."};
inline constexpr RefusalInfo kTensorShape{
    "MODEL-TENSOR-SHAPE", "A tensor has other dimensions than the metadata requires.",
    "Convert or download the model again."};
inline constexpr RefusalInfo kTensorType{
    "MODEL-TENSOR-TYPE", "A tensor has an element type that is not accepted for its role.",
    "Convert the model again: norms, biases and rotary factors are stored as F32."};

inline constexpr const RefusalInfo* kModelRefusals[] = {
    &kArchitectureUnknown, &kFeatureUnsupported, &kRopeScaling, &kGeometry,
    &kAliasesDiffer,       &kVocabularyMismatch, &kTensorShape, &kTensorType};

}  // namespace assay::engine::model
