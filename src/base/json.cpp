#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/json_events.h"

namespace assay::json {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return "a boolean";
    case Kind::number: return "a number";
    case Kind::string: return "a string";
    case Kind::array: return "an array";
    case Kind::object: return "an object";
  }
  return "a value";
}

Value::Value(int64_t value) : data_(Number{cat(value)}) {}
Value::Value(uint64_t value) : data_(Number{cat(value)}) {}
Value::Value(double value) {
  if (std::isfinite(value)) data_ = Number{format_double(value)};
}

Value Value::array(std::vector<Value> items) {
  Value value;
  value.data_ = std::move(items);
  return value;
}
Value Value::object(std::vector<Member> members) {
  Value value;
  value.data_ = std::move(members);
  return value;
}
Value Value::number(std::string literal) {
  Value value;
  value.data_ = Number{std::move(literal)};
  return value;
}

namespace {
// The alternative, which must be the one that is held.
template <class T, class Data>
auto& held(Data& data) {
  auto* const value = std::get_if<T>(&data);
  ENSURE(value != nullptr);
  return *value;
}
}  // namespace

bool Value::is_integer() const {
  return is_number() && literal().find_first_not_of("-0123456789") == std::string::npos;
}
bool Value::boolean() const {
  return held<bool>(data_);
}
const std::string& Value::string() const {
  return held<std::string>(data_);
}
const std::string& Value::literal() const {
  return held<Number>(data_).literal;
}
const std::vector<Value>& Value::items() const {
  return held<std::vector<Value>>(data_);
}
std::vector<Value>& Value::items() {
  return held<std::vector<Value>>(data_);
}
const std::vector<Member>& Value::members() const {
  return held<std::vector<Member>>(data_);
}
std::vector<Member>& Value::members() {
  return held<std::vector<Member>>(data_);
}

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}
Value* Value::find(std::string_view key) {
  return const_cast<Value*>(static_cast<const Value*>(this)->find(key));
}
void Value::set(std::string_view key, Value value) {
  if (Value* old = find(key)) {
    *old = std::move(value);
  } else {
    members().emplace_back(std::string(key), std::move(value));
  }
}

namespace {
Refusal wrong_type(const Value& value, std::string_view path, std::string_view expected) {
  std::string found(kind_name(value.kind()));
  if (value.is_number()) found += cat(" (", value.literal(), ")");
  return Refusal(kJsonType, cat("`", path, "` must be ", expected, ", found ", found));
}
Refusal out_of_range(const Value& value, std::string_view path, std::string_view expected) {
  return Refusal(kJsonRange, cat("`", path, "` is ", value.literal(), ", expected ", expected));
}
}  // namespace

Result<bool> Value::as_bool(std::string_view path) const {
  if (kind() != Kind::boolean) return wrong_type(*this, path, "true or false");
  return boolean();
}
Result<int64_t> Value::as_int64(std::string_view path) const {
  if (!is_integer() || literal() == "-0") return wrong_type(*this, path, "an integer");
  const auto parsed = parse_int64(literal());
  if (!parsed) return out_of_range(*this, path, "a signed 64-bit integer");
  return *parsed;
}
Result<uint64_t> Value::as_uint64(std::string_view path) const {
  if (!is_integer() || literal() == "-0") return wrong_type(*this, path, "an integer");
  const auto parsed = parse_uint64(literal());
  if (!parsed) return out_of_range(*this, path, "an integer from 0 to 2^64-1");
  return *parsed;
}
Result<uint32_t> Value::as_uint32(std::string_view path) const {
  if (!is_integer() || literal() == "-0") return wrong_type(*this, path, "an integer");
  const auto parsed = parse_uint64(literal());
  if (!parsed || *parsed > std::numeric_limits<uint32_t>::max()) {
    return out_of_range(*this, path, "an integer from 0 to 4294967295");
  }
  return static_cast<uint32_t>(*parsed);
}
Result<double> Value::as_double(std::string_view path) const {
  if (!is_number()) return wrong_type(*this, path, "a number");
  const auto number = finite_number(literal());
  if (!number) return out_of_range(*this, path, "a finite number");
  return *number;
}
Result<std::string> Value::as_string(std::string_view path) const {
  if (!is_string()) return wrong_type(*this, path, "a string");
  return string();
}
Result<std::vector<int64_t>> Value::as_int64s(std::string_view path) const {
  if (!is_array()) return wrong_type(*this, path, "an array of integers");
  std::vector<int64_t> out;
  out.reserve(items().size());
  for (size_t i = 0; i < items().size(); ++i) {
    auto item = items()[i].as_int64(path);
    if (!item) return items()[i].as_int64(path_of(path, i)).refusal();
    out.push_back(*item);
  }
  return out;
}
Status Value::expect(Kind kind, std::string_view path) const {
  if (this->kind() != kind) return wrong_type(*this, path, kind_name(kind));
  return {};
}
Status Value::expect_only(std::initializer_list<std::string_view> known,
                          std::string_view path) const {
  for (const auto& [key, value] : members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Refusal(kJsonUnknownKey, cat("`", path_of(path, key), "` is not a known key"));
    }
  }
  return {};
}
Result<const Value*> Value::at(std::string_view key, std::string_view path) const {
  const Value* value = find(key);
  if (value == nullptr)
    return Refusal(kJsonMissingKey, cat("`", path_of(path, key), "` is missing"));
  return value;
}

bool operator==(const Value& a, const Value& b) {
  return a.data_ == b.data_;
}

namespace {

// Builds values from RapidJSON's events; stops at a duplicate key or at too much depth.
class Builder {
 public:
  explicit Builder(const ParseOptions& options) : options_(options) {}

  std::vector<Value> results;
  std::optional<Refusal> problem;

  void begin_value() {}

  bool Null() { return put(Value()); }
  bool Bool(bool value) { return put(Value(value)); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    problem = problem_of_number({text, size});
    return !problem && put(Value::number(std::string(text, size)));
  }
  // Numbers arrive as text only; these exist because the reader's interface asks for them.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    problem = problem_of_string({text, size});
    return !problem && put(Value(std::string(text, size)));
  }
  bool StartObject() { return open(Kind::object); }
  bool StartArray() { return open(Kind::array); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    problem = problem_of_string({text, size});
    if (problem) return false;
    const std::string_view key(text, size);
    Frame& frame = stack_.back();
    frame.slot = find(frame, key);
    if (frame.slot != kNone && !options_.last_duplicate_wins) {
      problem = Refusal(kJsonDuplicateKey, cat("key `", key, "` stands twice in one object"));
      return false;
    }
    if (frame.slot == kNone) {
      frame.slot = members_.size();
      members_.emplace_back(std::string(key), Value());
    }
    return true;
  }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

 private:
  // An open object or array: its members and items so far stand at the end of members_ and items_.
  struct Frame {
    Kind kind;
    size_t begin;
    size_t slot = kNone;                                               // of the coming member
    std::unique_ptr<std::unordered_map<std::string, size_t>> index{};  // of many members
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);
  static constexpr size_t kIndexFrom = 64;  // above this many members a hash index pays

  // Position in members_ of the open object's member with this key.
  size_t find(Frame& frame, std::string_view wanted) {
    const size_t count = members_.size() - frame.begin;
    if (count < kIndexFrom) {
      for (size_t i = frame.begin; i < members_.size(); ++i) {
        if (members_[i].first == wanted) return i;
      }
      return kNone;
    }
    if (!frame.index) frame.index = std::make_unique<std::unordered_map<std::string, size_t>>();
    for (size_t i = frame.begin + frame.index->size(); i < members_.size(); ++i)
      frame.index->emplace(members_[i].first, i);
    const auto found = frame.index->find(std::string(wanted));
    return found == frame.index->end() ? kNone : found->second;
  }

  bool open(Kind kind) {
    if (stack_.size() == static_cast<size_t>(options_.depth_max)) {
      problem = too_deep(options_.depth_max);
      return false;
    }
    stack_.push_back({kind, kind == Kind::object ? members_.size() : items_.size()});
    return true;
  }
  bool close() {
    const Kind kind = stack_.back().kind;
    const size_t begin = stack_.back().begin;
    stack_.pop_back();
    return put(kind == Kind::object ? Value::object(taken(members_, begin))
                                    : Value::array(taken(items_, begin)));
  }
  // The elements from `begin` on, in a vector of exactly their number.
  template <class T>
  static std::vector<T> taken(std::vector<T>& from, size_t begin) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<T> out(std::make_move_iterator(first), std::make_move_iterator(from.end()));
    from.erase(first, from.end());
    return out;
  }
  bool put(Value value) {
    if (stack_.empty()) {
      results.push_back(std::move(value));
    } else if (stack_.back().kind == Kind::array) {
      items_.push_back(std::move(value));
    } else {
      members_[stack_.back().slot].second = std::move(value);
    }
    return true;
  }

  const ParseOptions& options_;
  std::vector<Frame> stack_;
  std::vector<Member> members_;
  std::vector<Value> items_;
};

}  // namespace

std::optional<double> finite_number(std::string_view literal) {
  if (const auto parsed = parse_double(literal))
    return std::isfinite(*parsed) ? parsed : std::nullopt;
  // from_chars reports underflow to zero as out of range too; strtod semantics are wanted there: a
  // literal such as 1e-400 is a legal, tiny number.
  const size_t e = literal.find_first_of("eE");
  if (e == std::string_view::npos || literal.find('-', e) == std::string_view::npos)
    return std::nullopt;
  return 0.0;
}

Result<Value> parse(std::string_view bytes, const ParseOptions& options) {
  TRY(values, parse_many(bytes, options));
  if (values.size() != 1) {
    return Refusal(kJsonSyntax,
                   cat("found ", values.size(), " JSON values one after another, expected one"));
  }
  return std::move(values[0]);
}

Result<std::vector<Value>> parse_many(std::string_view bytes, const ParseOptions& options) {
  if (bytes.starts_with(kByteOrderMark)) {
    if (!options.skip_byte_order_mark) {
      return Refusal(kJsonSyntax,
                     "the text begins with a byte order mark, expected JSON at byte 0");
    }
    bytes.remove_prefix(kByteOrderMark.size());
  }
  Builder builder(options);
  rapidjson::MemoryStream stream(bytes.data(), bytes.size());
  TRY_DO(read_values<rapidjson::kParseValidateEncodingFlag>(stream, bytes.size(), builder));
  return std::move(builder.results);
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  size_t plain = 0;  // start of the run that needs no escape
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += "\\u00"; out += to_hex(text.substr(i, 1));
    }
  }
  out.append(text, plain);
  out.push_back('"');
}

namespace {
class Printer {
 public:
  Printer(std::string& out, const WriteOptions& options) : out_(out), options_(options) {}

  void print(const Value& value, int level) {
    switch (value.kind()) {
      case Kind::null: out_ += "null"; break;
      case Kind::boolean: out_ += value.boolean() ? "true" : "false"; break;
      case Kind::number: out_ += value.literal(); break;
      case Kind::string: append_quoted(out_, value.string()); break;
      case Kind::array: print_array(value.items(), level); break;
      case Kind::object: print_object(value.members(), level); break;
    }
  }

 private:
  void print_array(const std::vector<Value>& items, int level) {
    out_.push_back('[');
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_.push_back(',');
      break_line(level + 1);
      print(items[i], level + 1);
    }
    if (!items.empty()) break_line(level);
    out_.push_back(']');
  }
  void print_object(const std::vector<Member>& members, int level) {
    std::vector<const Member*> order;
    order.reserve(members.size());
    for (const Member& member : members) order.push_back(&member);
    if (options_.sort_keys) {
      std::sort(order.begin(), order.end(),
                [](const Member* a, const Member* b) { return a->first < b->first; });
    }
    out_.push_back('{');
    for (size_t i = 0; i < order.size(); ++i) {
      if (i != 0) out_.push_back(',');
      break_line(level + 1);
      append_quoted(out_, order[i]->first);
      out_ += options_.indent > 0 ? ": " : ":";
      print(order[i]->second, level + 1);
    }
    if (!order.empty()) break_line(level);
    out_.push_back('}');
  }
  void break_line(int level) {
    if (options_.indent == 0) return;
    out_.push_back('\n');
    out_.append(static_cast<size_t>(options_.indent * level), ' ');
  }

  std::string& out_;
  const WriteOptions& options_;
};
}  // namespace

std::string write(const Value& value, const WriteOptions& options) {
  std::string out;
  Printer(out, options).print(value, 0);
  return out;
}

std::string path_of(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : cat(parent, ".", key);
}
std::string path_of(std::string_view parent, size_t index) {
  return cat(parent, "[", index, "]");
}

}  // namespace assay::json
