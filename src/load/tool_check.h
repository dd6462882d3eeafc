// Whether a model's tool call could be used by a program. Beside speed: a fast answer that nothing
// can be done with is no answer.
#pragma once

#include "base/json.h"

namespace assay::load {

/// One function, get_weather(city, unit?), in the API's shape.
[[nodiscard]] json::Value weather_tools();
/// A question that this function answers.
[[nodiscard]] json::Value weather_question();

/// Why `value` does not fit the schema (type, properties, required, enum, items,
/// additionalProperties: false); empty when it does.
[[nodiscard]] std::string schema_problem(const json::Value& value, const json::Value& schema,
                                         const std::string& path);

}  // namespace assay::load
