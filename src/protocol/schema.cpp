#include "protocol/schema.h"

#include <limits>

#include "base/text.h"
#include "protocol/fields.h"

namespace assay::protocol {

namespace {

using json::Value;

Value integer(int64_t minimum, Value maximum) {
  return Value::object(
      {{"type", "integer"}, {"minimum", minimum}, {"maximum", std::move(maximum)}});
}

Value array(Value items) {
  return Value::object({{"type", "array"}, {"items", std::move(items)}});
}

Value reference(const Shape& shape) {
  return Value::object({{"$ref", cat("#/definitions/", shape.name)}});
}

Value scalar(Type type) {
  switch (type) {
    case Type::int64:
      return integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    case Type::uint32: return integer(0, std::numeric_limits<uint32_t>::max());
    case Type::uint64:
      // 2^64 as an exclusive bound: exact also for validators that compute in double.
      return Value::object({{"type", "integer"},
                            {"minimum", 0},
                            {"exclusiveMaximum", Value::number("18446744073709551616")}});
    case Type::float64: return Value::object({{"type", "number"}});
    case Type::boolean: return Value::object({{"type", "boolean"}});
    default: return Value::object({{"type", "string"}});
  }
}

Value value_schema(const Field& row) {
  switch (row.type) {
    case Type::object: return reference(*row.shape);
    case Type::objects: return array(reference(*row.shape));
    case Type::opaque: return Value::object({{"type", "object"}});
    case Type::int64s: return array(scalar(Type::int64));
    case Type::uint32s: return array(scalar(Type::uint32));
    case Type::uint64s: return array(scalar(Type::uint64));
    case Type::float64s: return array(scalar(Type::float64));
    case Type::strings: return array(scalar(Type::string));
    case Type::int64_lists: return array(array(scalar(Type::int64)));
    case Type::uint32_lists: return array(array(scalar(Type::uint32)));
    case Type::counts:
      return Value::object({{"type", "object"}, {"additionalProperties", scalar(Type::uint32)}});
    default: return scalar(row.type);
  }
}

// "On prefill, correctness."
std::string where(const Field& row) {
  std::vector<std::string> names;
  if (row.verbs & bit(Verb::hello)) names.emplace_back("hello");
  for (size_t i = 0; i < kVerbNames.size(); ++i) {
    if (row.verbs & bit(static_cast<Verb>(i))) names.emplace_back(kVerbNames[i]);
  }
  return cat("On ", join(names, ", "), ".");
}

Value field_schema(const Field& row) {
  Value schema = value_schema(row);
  if (row.minimum) schema.set("minimum", *row.minimum);
  if (!row.words.empty()) schema.set("enum", Value::array_of(row.words));
  if (row.length_min > 0) schema.set("minItems", static_cast<uint64_t>(row.length_min));
  if (row.length_max != ~size_t{0}) {
    schema.set("maxItems", static_cast<uint64_t>(row.length_max));
  }
  // Draft-07 ignores what stands beside a $ref, so a described reference is wrapped.
  if (row.verbs != ~0u) {
    if (schema.find("$ref") != nullptr) {
      schema = Value::object({{"allOf", Value::array({std::move(schema)})}});
    }
    schema.set("description", where(row));
  }
  return schema;
}

// Adds the shape and the shapes inside it to `definitions`, inner ones first.
void define(const Shape& shape, Value& definitions) {
  Value properties = Value::object();
  Value required = Value::array();
  for (const Field& row : shape.fields) {
    if (row.shape != nullptr && definitions.find(row.shape->name) == nullptr) {
      define(*row.shape, definitions);
    }
    properties.set(row.key, field_schema(row));
    if (row.required) required.items().emplace_back(row.key);
  }
  Value schema = Value::object({{"type", "object"}});
  schema.set("properties", std::move(properties));
  if (!required.items().empty()) schema.set("required", std::move(required));
  if (shape.closed) schema.set("additionalProperties", false);
  definitions.set(shape.name, std::move(schema));
}

}  // namespace

Value json_schema() {
  Value definitions = Value::object();
  define(request_shape(), definitions);
  define(response_shape(), definitions);
  return Value::object(
      {{"$schema", "http://json-schema.org/draft-07/schema#"},
       {"title", "Engine Protocol v1 (with v1.1 and v1.2)"},
       {"description",
        "One line of the wire: a request or a response. Made by the program protocol_schema from "
        "the field table of the codec; property order is the canonical order. docs/protocol.md has "
        "the meaning."},
       {"oneOf", Value::array({reference(request_shape()), reference(response_shape())})},
       {"definitions", std::move(definitions)}});
}

}  // namespace assay::protocol
