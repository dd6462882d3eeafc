// The JSON Schema (draft-07) of the wire, made from the field table. schema/engine-protocol-v1.json
// is its output, committed; a test compares the two.
//
// What draft-07 cannot say and the codec demands beside it: no key twice, integers without fraction
// or exponent, at most 16 levels. What the schema says and the codec leaves to the verbs' checks:
// least values, array lengths, the verbs' and modes' names.
#pragma once

#include "base/json.h"

namespace assay::protocol {

[[nodiscard]] json::Value json_schema();

}  // namespace assay::protocol
