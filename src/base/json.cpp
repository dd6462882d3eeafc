#include "base/json.h"

#if defined(__SSE2__)
// Strings are scanned sixteen bytes at a time where they are decoded in place. The library's
// classes then differ from those of other files, so that they have a namespace of their own here.
#define RAPIDJSON_SSE2
#define RAPIDJSON_NAMESPACE rapidjson_sse2
#define RAPIDJSON_NAMESPACE_BEGIN namespace rapidjson_sse2 {
#define RAPIDJSON_NAMESPACE_END }
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <unordered_map>

#include "base/input_file.h"
#include "base/json_pieces.h"
#include "base/refusals.h"
#include "base/text.h"

#if defined(__SSE2__)
namespace rapidjson = rapidjson_sse2;
#endif

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
  // from_chars reports underflow to zero as out of range too; strtod semantics are wanted there: a
  // literal such as 1e-400 is a legal, tiny number.
  const auto parsed = parse_double(literal());
  if (parsed) {
    if (!std::isfinite(*parsed)) return out_of_range(*this, path, "a finite number");
    return *parsed;
  }
  const size_t e = literal().find_first_of("eE");
  const bool tiny = e != std::string::npos && literal().find('-', e) != std::string::npos;
  if (!tiny) return out_of_range(*this, path, "a finite number");
  return 0.0;
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
  explicit Builder(const ParseOptions& options) : options_(options) {
    for (const std::string_view skip : options.skip_members) {
      const size_t at = skip.rfind('@');
      const auto depth =
          at == std::string_view::npos ? std::nullopt : parse_int64(skip.substr(at + 1));
      const std::string_view key = depth ? skip.substr(0, at) : skip;
      const bool counted = key.ends_with("[]");
      skips_.push_back({counted ? key.substr(0, key.size() - 2) : key,
                        depth ? static_cast<int>(*depth) : -1, counted});
    }
  }

  bool Null() { return put(Value()); }
  bool Bool(bool value) { return put(Value(value)); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    if (is_malformed_word({text, size})) return false;
    return skipping() || put(Value::number(std::string(text, size)));
  }
  // Numbers arrive as text only; these exist because the reader's interface asks for them.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (has_lone_surrogate({text, size})) return false;
    return skipping() || put(Value(std::string(text, size)));
  }
  bool StartObject() { return open(Kind::object); }
  bool StartArray() { return open(Kind::array); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (has_lone_surrogate({text, size})) return false;
    if (skipping()) return true;
    const std::string_view key(text, size);
    Frame& frame = stack_.back();
    frame.slot = find(frame, key);
    if (frame.slot != kNone && !options_.last_duplicate_wins) {
      problem = Refusal(kJsonDuplicateKey, cat("key `", key, "` stands twice in one object"));
      return false;
    }
    for (const Skip& skip : skips_) {
      if (skip.key != key || (skip.depth >= 0 && skip.depth != depth_)) continue;
      if (skip.counted) {
        count_next_ = true;
        break;
      }
      skip_from_ = depth_;
      if (!read_over) return true;
      const Status passed = read_over(options_.depth_max - depth_);
      if (!passed) problem = passed.refusal();
      return static_cast<bool>(passed);
    }
    if (frame.slot == kNone) {
      frame.slot = members_.size();
      members_.emplace_back(std::string(key), Value());
    }
    return true;
  }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  Value result;
  std::optional<Refusal> problem;
  // Set where the stream can read over what is not wanted: the value of the key just seen, of which
  // a scalar is left, and what is in the coming object or array.
  std::function<Status(int depth_left)> read_over;
  std::function<Status(int depth_left)> read_over_inside;

 private:
  // An open object or array: its members and items so far stand at the end of members_ and items_.
  struct Frame {
    Kind kind;
    size_t begin;
    bool counted = false;  // an array of which only the number of items is wanted
    size_t slot = kNone;   // of the coming member
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

  // RapidJSON 1.1 accepts an escaped low surrogate that stands alone and makes bytes of it that are
  // not UTF-8. Raw bytes are checked before, so text that is not UTF-8 comes from such an escape.
  [[nodiscard]] bool has_lone_surrogate(std::string_view text) {
    if (text.find('\xED') == std::string_view::npos || is_utf8(text)) return false;
    problem = Refusal(kJsonSyntax, "a \\u escape is half of a surrogate pair");
    return true;
  }

  // RapidJSON 1.1 takes "NInf" and "NaInf" for infinity.
  [[nodiscard]] bool is_malformed_word(std::string_view literal) {
    if (literal.starts_with('-')) literal.remove_prefix(1);
    if (!literal.starts_with('N') || literal == "NaN") return false;
    problem = Refusal(kJsonSyntax, cat("`", literal, "` is no number"));
    return true;
  }

  // Between the key of a skipped member and the end of its value.
  [[nodiscard]] bool skipping() {
    if (skip_from_ < 0) return false;
    if (depth_ == skip_from_) skip_from_ = -1;  // a scalar: this event was the whole value
    return true;
  }

  bool open(Kind kind) {
    if (++depth_ > options_.depth_max) {
      problem = Refusal(kJsonTooDeep, cat("nested deeper than ", options_.depth_max, " levels"));
      return false;
    }
    if (skip_from_ >= 0) return true;
    if (!stack_.empty() && stack_.back().counted) {
      put(Value());
      skip_from_ = depth_ - 1;
      if (!read_over_inside) return true;
      const Status passed = read_over_inside(options_.depth_max - depth_);
      if (!passed) problem = passed.refusal();
      return static_cast<bool>(passed);
    }
    stack_.push_back({kind, kind == Kind::object ? members_.size() : items_.size(),
                      kind == Kind::array && count_next_});
    count_next_ = false;
    return true;
  }
  bool close() {
    --depth_;
    if (skip_from_ >= 0) {
      if (depth_ == skip_from_) skip_from_ = -1;
      return true;
    }
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
    if (skip_from_ >= 0 && skipping()) return true;
    count_next_ = false;
    if (stack_.empty()) {
      result = std::move(value);
    } else if (stack_.back().kind == Kind::array) {
      items_.push_back(std::move(value));
    } else {
      members_[stack_.back().slot].second = std::move(value);
    }
    return true;
  }

  struct Skip {
    std::string_view key;
    int depth;  // of objects and arrays around the member; -1 = any
    bool counted;
  };

  const ParseOptions& options_;
  std::vector<Skip> skips_;
  std::vector<Frame> stack_;
  std::vector<Member> members_;
  std::vector<Value> items_;
  int depth_ = 0;
  int skip_from_ = -1;       // depth at which what is skipped stands; -1 = keeping
  bool count_next_ = false;  // of the coming value, an array's, only the number of items is wanted
};

// The iterative parser keeps its own stack, so depth costs memory and never the C++ stack.
constexpr unsigned kStrict = rapidjson::kParseValidateEncodingFlag |
                             rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag;

template <class Stream>
void skip_white_space(Stream& stream) {
  while (stream.Peek() == ' ' || stream.Peek() == '\n' || stream.Peek() == '\r' ||
         stream.Peek() == '\t') {
    stream.Take();
  }
}

// Text that may be written over is decoded where it stands, which is about twice as fast.
template <class Stream>
constexpr unsigned kFlagsOf =
    std::is_same_v<Stream, rapidjson::InsituStringStream> ? kStrict | rapidjson::kParseInsituFlag
                                                          : kStrict;

// One value; the stream stands behind it afterwards.
template <class Stream>
Result<Value> read_value(Stream& stream, const ParseOptions& options) {
  rapidjson::Reader reader;
  Builder builder(options);
  if constexpr (std::is_same_v<Stream, PieceStream>) {
    builder.read_over = [&](int depth_left) {
      return stream.read_over_member(depth_left, options.allow_non_finite);
    };
    builder.read_over_inside = [&](int depth_left) {
      return stream.read_over_inside(depth_left, options.allow_non_finite);
    };
  }
  constexpr unsigned kFlags = kFlagsOf<Stream>;
  const rapidjson::ParseResult parsed =
      options.allow_non_finite
          ? reader.Parse<kFlags | rapidjson::kParseNanAndInfFlag>(stream, builder)
          : reader.Parse<kFlags>(stream, builder);
  if (builder.problem) return *std::move(builder.problem);
  if (parsed.IsError()) {
    return Refusal(kJsonSyntax, cat("at byte ", parsed.Offset(), ": ",
                                    rapidjson::GetParseError_En(parsed.Code())));
  }
  return std::move(builder.result);
}

// All values up to `size` bytes (RapidJSON takes a NUL byte for the end of its input: the size
// tells).
template <class Stream>
Result<std::vector<Value>> read_values(Stream& stream, uint64_t size, const ParseOptions& options) {
  std::vector<Value> values;
  do {
    TRY(value, read_value(stream, options));
    values.push_back(std::move(value));
    skip_white_space(stream);
  } while (stream.Tell() < size && stream.Peek() != '\0');
  if (stream.Tell() < size) {
    return Refusal(kJsonSyntax, cat("at byte ", stream.Tell(), ": a NUL byte"));
  }
  return values;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

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
  rapidjson::MemoryStream stream(bytes.data(), bytes.size());
  return read_values(stream, bytes.size(), options);
}

Result<std::vector<Value>> parse_file(const std::filesystem::path& path, uint64_t size_max,
                                      const ParseOptions& options) {
  TRY(file, open_input_stream(path));
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return Refusal(kFileUnreadable, cat("`", path.string(), "`: ", error.message()));
  if (size > size_max) {
    return Refusal(kFileTooLarge, cat("`", path.string(), "` has ", size, " bytes, at most ",
                                      size_max, " are read"));
  }
  // A file that can be held is read whole and decoded in place: where all of it is kept, its values
  // are a multiple of its text. A large one that is mostly read over, or one that does not say its
  // size (a pipe), is read in pieces.
  constexpr uint64_t kHeldMax = uint64_t{24} << 20;
  if (size > 0 && (size <= kHeldMax || options.skip_members.empty())) {
    // NULs end the parser's input and are room for its last sixteen bytes.
    std::string text(size + 32, '\0');
    const size_t got = std::fread(text.data(), 1, size, file.get());
    if (got != size)
      return Refusal(kFileUnreadable,
                     cat("`", path.string(), "` ended after ", got, " of ", size, " bytes"));
    const bool marked = options.skip_byte_order_mark && text.starts_with(kByteOrderMark);
    const size_t from = marked ? kByteOrderMark.size() : 0;
    rapidjson::InsituStringStream stream(text.data() + from);
    auto values = read_values(stream, size - from, options);
    if (!values) return at(path.string(), std::move(values).refusal());
    return values;
  }
  PieceStream stream(file.get());
  if (options.skip_byte_order_mark) stream.pass_prefix(kByteOrderMark);
  auto values = read_values(stream, size, options);
  if (!values) return at(path.string(), std::move(values).refusal());
  return values;
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
