// The field table: every key of the wire with its member, type and place. Reader, writer, JSON
// Schema and the engine's "which keys belong to this verb" all run over these rows, so that order,
// closedness and omission cannot drift apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/message.h"
#include "protocol/verb.h"

namespace assay::protocol {

enum class Type : uint8_t {
  int64,
  uint32,
  uint64,
  float64,
  boolean,
  string,
  object,  // a nested Shape
  opaque,  // any JSON object, kept as json::Value
  int64s,
  uint32s,
  uint64s,
  float64s,
  strings,
  objects,      // an array of a nested Shape
  int64_lists,  // an array of arrays
  uint32_lists,
  counts,  // an object of any keys with uint32 values
};

struct Shape;

/// One key. `set` gives the place of its value inside a message, made if it was absent; `get` gives
/// it, or null when absent.
struct Field {
  std::string_view key;
  Type type;
  bool required;
  const Shape* shape;  // of object, objects
  void* (*set)(void* message);
  const void* (*get)(const void* message);

  // Facts that the codec leaves to the verbs' checks; they are in the JSON Schema.
  uint32_t verbs = ~0u;                       // messages that may carry it, as bits of Verb
  std::optional<int64_t> minimum{};           // smallest legal value
  std::span<const std::string_view> words{};  // the legal strings
  size_t length_min = 0;                      // of an array
  size_t length_max = ~size_t{0};
};

/// One JSON object: its keys in canonical order.
struct Shape {
  std::string_view name;
  bool closed;  // an unknown key is refused
  std::span<const Field> fields;
  // An array of this object: add one at the end; how many; one of them.
  void* (*append)(void* list);
  size_t (*size)(const void* list);
  const void* (*item)(const void* list, size_t index);
};

[[nodiscard]] const Shape& request_shape();
[[nodiscard]] const Shape& response_shape();

[[nodiscard]] constexpr uint32_t bit(Verb verb) {
  return 1u << static_cast<unsigned>(verb);
}

/// The first key of `request` (beyond id and kind) that does not ride on `verb`; empty when all do.
[[nodiscard]] std::string_view stray_key(const Request& request, Verb verb);

}  // namespace assay::protocol
