// JSON: one strict reader and one canonical writer for every file and message of the product.
//
// Reading   exactly one value, white space after it allowed; valid UTF-8 and legal surrogate pairs;
// no BOM,
//           no NaN or Infinity, no comments; a key twice in an object is refused (unless asked
//           for); nesting is bounded. Numbers keep their source text, so that `1.0` is never an
//           integer.
// Writing   doubles as format_double; strings escape ", \, and controls (\b \f \n \r \t, else
// \u00xx in
//           lower case) and nothing else.
// Errors    JSON-SYNTAX, JSON-DUPLICATE-KEY, JSON-TOO-DEEP from parse; JSON-TYPE, JSON-RANGE,
//           JSON-MISSING-KEY, JSON-UNKNOWN-KEY from the typed access. Details name the key's path.
// Threads   values are plain data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace assay::json {

enum class Kind { null, boolean, number, string, array, object };
[[nodiscard]] std::string_view kind_name(Kind kind);

class Value;
using Member = std::pair<std::string, Value>;

/// One JSON value. Object members keep the order of the source.
class Value {
 public:
  // Null. Not defaulted: clang 14 would need the member initializers before the class ends.
  Value() {}
  Value(bool value) : data_(value) {}
  Value(int value) : Value(static_cast<int64_t>(value)) {}
  Value(int64_t value);
  Value(uint64_t value);
  Value(uint32_t value) : Value(static_cast<uint64_t>(value)) {}
  /// A double that is not finite becomes null: JSON cannot say it.
  Value(double value);
  Value(const char* text) : Value(std::string(text)) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(std::string text) : data_(std::move(text)) {}

  [[nodiscard]] static Value array(std::vector<Value> items = {});
  [[nodiscard]] static Value object(std::vector<Member> members = {});
  [[nodiscard]] static Value number(std::string literal);  // literal as written in the source
  template <class Range>
  [[nodiscard]] static Value array_of(const Range& range) {
    std::vector<Value> items;
    for (const auto& item : range) items.emplace_back(item);
    return array(std::move(items));
  }

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::null; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::object; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::array; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::string; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::number; }
  /// A number written without fraction and exponent.
  [[nodiscard]] bool is_integer() const;

  // Plain access; the kind must match (ENSURE).
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const std::string& literal() const;  // a number's source text
  [[nodiscard]] const std::vector<Value>& items() const;
  [[nodiscard]] std::vector<Value>& items();
  [[nodiscard]] const std::vector<Member>& members() const;
  [[nodiscard]] std::vector<Member>& members();

  /// The member with this key, or null pointer. Linear in the number of members.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  /// Adds a member, or replaces the one with this key.
  void set(std::string_view key, Value value);

  // Typed access for readers: `path` names the value in a refusal ("cases[0].name").
  [[nodiscard]] Result<bool> as_bool(std::string_view path) const;
  [[nodiscard]] Result<int64_t> as_int64(std::string_view path) const;  // integer literal, not "-0"
  [[nodiscard]] Result<uint64_t> as_uint64(std::string_view path) const;  // the same, not negative
  [[nodiscard]] Result<uint32_t> as_uint32(std::string_view path) const;
  [[nodiscard]] Result<double> as_double(
      std::string_view path) const;  // any number that stays finite
  [[nodiscard]] Result<std::string> as_string(std::string_view path) const;
  /// Array of integer literals.
  [[nodiscard]] Result<std::vector<int64_t>> as_int64s(std::string_view path) const;
  /// JSON-TYPE unless this is an array, or an object.
  [[nodiscard]] Status expect(Kind kind, std::string_view path) const;
  /// JSON-UNKNOWN-KEY for the first member whose key is not in `known`. Needs an object.
  [[nodiscard]] Status expect_only(std::initializer_list<std::string_view> known,
                                   std::string_view path) const;
  /// JSON-MISSING-KEY when there is no such member. Needs an object.
  [[nodiscard]] Result<const Value*> at(std::string_view key, std::string_view path) const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  struct Number {
    std::string literal;
    friend bool operator==(const Number&, const Number&) = default;
  };
  // In the order of Kind.
  std::variant<std::monostate, bool, Number, std::string, std::vector<Value>, std::vector<Member>>
      data_;
};

struct ParseOptions {
  int depth_max = 128;                // objects and arrays inside one another
  bool last_duplicate_wins = false;   // a key that stands twice takes its last value
  bool skip_byte_order_mark = false;  // a UTF-8 byte order mark may stand first
};

[[nodiscard]] Result<Value> parse(std::string_view bytes, const ParseOptions& options = {});

/// Every value of a text that holds one or more, with white space between them (JSON lines).
[[nodiscard]] Result<std::vector<Value>> parse_many(std::string_view bytes,
                                                    const ParseOptions& options = {});

/// The number that a literal means: finite as a double, 0 where it is too small for one; nothing
/// for NaN, Infinity and what is too large.
[[nodiscard]] std::optional<double> finite_number(std::string_view literal);

struct WriteOptions {
  int indent = 0;          // 0 = compact; else spaces a level, ": " after keys, "\n" between items
  bool sort_keys = false;  // byte-wise, at every level
};

/// Canonical text, without a final newline.
[[nodiscard]] std::string write(const Value& value, const WriteOptions& options = {});

/// Appends `text` as a JSON string with its quotes.
void append_quoted(std::string& out, std::string_view text);

/// "parent.key", or "key" at the top.
[[nodiscard]] std::string path_of(std::string_view parent, std::string_view key);
/// "parent[3]".
[[nodiscard]] std::string path_of(std::string_view parent, size_t index);

}  // namespace assay::json
