#include "load/tool_check.h"

#include <algorithm>

#include "base/text.h"
#include "load/probe.h"
#include "load/prompt.h"

namespace assay::load {

namespace {

bool has_type(const json::Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.kind() == json::Kind::boolean;
  if (type == "null") return value.is_null();
  return true;  // a type that this check does not know forbids nothing
}

const json::Value* offered_function(const json::Value& tools, std::string_view name) {
  if (!tools.is_array()) return nullptr;
  for (const json::Value& tool : tools.items()) {
    const json::Value* function = tool.is_object() ? tool.find("function") : nullptr;
    const json::Value* own =
        function != nullptr && function->is_object() ? function->find("name") : nullptr;
    if (own != nullptr && own->is_string() && own->string() == name) return function;
  }
  return nullptr;
}

std::string call_problem(const ToolCall& call, const json::Value& tools) {
  const json::Value* function = offered_function(tools, call.name);
  if (function == nullptr) return cat("the call names `", call.name, "`, which was not offered");
  const auto arguments = json::parse(call.arguments);
  if (!arguments) return cat("the arguments are no JSON: ", arguments.refusal().detail);
  const json::Value* schema = function->find("parameters");
  return schema == nullptr ? "" : schema_problem(*arguments, *schema, "arguments");
}

}  // namespace

json::Value weather_tools() {
  using json::Value;
  const Value parameters = Value::object(
      {{"type", "object"},
       {"properties",
        Value::object(
            {{"city", Value::object({{"type", "string"}, {"description", "Name of the city"}})},
             {"unit",
              Value::object({{"type", "string"},
                             {"enum", Value::array({Value("celsius"), Value("fahrenheit")})}})}})},
       {"required", Value::array({Value("city")})},
       {"additionalProperties", false}});
  return Value::array({Value::object(
      {{"type", "function"},
       {"function", Value::object({{"name", "get_weather"},
                                   {"description", "Tells the weather in a city right now"},
                                   {"parameters", parameters}})}})});
}

json::Value weather_question() {
  return user_message("What is the weather in Lisbon right now? Call the function get_weather.");
}

std::string schema_problem(const json::Value& value, const json::Value& schema,
                           const std::string& path) {
  if (!schema.is_object()) return "";
  if (const json::Value* type = schema.find("type"); type != nullptr && type->is_string()) {
    if (!has_type(value, type->string())) return cat(path, " is no ", type->string());
  }
  if (const json::Value* allowed = schema.find("enum"); allowed != nullptr && allowed->is_array()) {
    const auto& items = allowed->items();
    if (std::find(items.begin(), items.end(), value) == items.end()) {
      return cat(path, " is none of the allowed values");
    }
  }
  if (value.is_array()) {
    const json::Value* items = schema.find("items");
    for (size_t i = 0; items != nullptr && i < value.items().size(); ++i) {
      std::string problem = schema_problem(value.items()[i], *items, json::path_of(path, i));
      if (!problem.empty()) return problem;
    }
  }
  if (!value.is_object()) return "";
  if (const json::Value* required = schema.find("required");
      required != nullptr && required->is_array()) {
    for (const json::Value& key : required->items()) {
      if (key.is_string() && value.find(key.string()) == nullptr) {
        return cat(json::path_of(path, key.string()), " is missing");
      }
    }
  }
  const json::Value* properties = schema.find("properties");
  const json::Value* further = schema.find("additionalProperties");
  const bool closed =
      further != nullptr && further->kind() == json::Kind::boolean && !further->boolean();
  for (const auto& [key, item] : value.members()) {
    const json::Value* own =
        properties != nullptr && properties->is_object() ? properties->find(key) : nullptr;
    if (own == nullptr && closed) return cat(json::path_of(path, key), " is not known");
    if (own == nullptr) continue;
    std::string problem = schema_problem(item, *own, json::path_of(path, key));
    if (!problem.empty()) return problem;
  }
  return "";
}

ToolCheck check_tool_call(const StreamRecord& record, const json::Value& tools) {
  if (record.problem) return {.problem = record.problem->text()};
  if (record.finish_reason != "tool_calls") {
    return {.problem = cat("finish_reason is `", record.finish_reason.value_or("absent"),
                           "`, not `tool_calls`")};
  }
  if (record.tool_calls.empty()) return {.problem = "no tool call came"};
  for (const ToolCall& call : record.tool_calls) {
    if (std::string problem = call_problem(call, tools); !problem.empty()) {
      return {.problem = std::move(problem)};
    }
  }
  return {.valid = true};
}

}  // namespace assay::load
