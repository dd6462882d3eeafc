// Reader: RapidJSON's events go straight into the message through the field table. The line is
// first copied into a scratch buffer that is parsed in place, so that strings and numbers arrive as
// views without a copy each. Writer: the table's rows in order.
#include "protocol/codec.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "protocol/fields.h"
#include "protocol/refusals.h"

namespace assay::protocol {

namespace {

bool is_list(Type type) {
  return type >= Type::int64s && type <= Type::uint32_lists;
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::int64: return "a signed 64-bit integer";
    case Type::uint32: return "an integer from 0 to 2^32-1";
    case Type::uint64: return "an integer from 0 to 2^64-1";
    case Type::float64: return "a finite number";
    case Type::boolean: return "true or false";
    case Type::string: return "a string";
    case Type::object:
    case Type::opaque:
    case Type::counts: return "an object";
    default: return "an array";
  }
}

// The type of the items of a list; of an inner list for a list of lists.
Type item_type(Type list) {
  switch (list) {
    case Type::int64s:
    case Type::int64_lists: return Type::int64;
    case Type::uint32s:
    case Type::uint32_lists: return Type::uint32;
    case Type::uint64s: return Type::uint64;
    case Type::float64s: return Type::float64;
    case Type::strings: return Type::string;
    default: return Type::object;
  }
}

// RapidJSON has checked the number's grammar; what is left is "no fraction, no exponent, no -0" and
// the range of T.
template <class T>
bool read_integer(const char* text, size_t size, T& out) {
  if (size == 2 && text[0] == '-' && text[1] == '0') return false;
  const auto [end, error] = std::from_chars(text, text + size, out);
  return error == std::errc() && end == text + size;
}

bool read_double(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc()) return true;
  // Too small for a double is a legal, tiny number; too large is not a number of the wire.
  auto value = json::Value::number(std::string(text)).as_double("");
  if (!value) return false;
  out = *value;
  return true;
}

// RapidJSON 1.1 accepts an escaped low surrogate that stands alone and makes the bytes ED B0..BF xx
// of it. Raw bytes are checked before, so text that is not UTF-8 here comes from such an escape.
bool has_lone_surrogate(std::string_view text) {
  return text.find('\xED') != std::string_view::npos && !is_utf8(text);
}

class Handler {
 public:
  Handler(const Shape& shape, void* message, std::string_view line,
          rapidjson::InsituStringStream& stream, std::string* unknown_spec_key)
      : line_(line), stream_(stream), unknown_spec_key_(unknown_spec_key) {
    root_ = &shape;
    message_ = message;
  }

  bool Null() {
    if (skip_depth_ > 0 || ignoring()) return ignored();
    return refuse("is null, and the wire has no null: leave the key out");
  }
  bool Bool(bool value) {
    if (skip_depth_ > 0 || ignoring()) return ignored();
    Frame* frame = top();
    if (frame == nullptr || frame->kind != Kind::object || frame->field->type != Type::boolean) {
      return wrong_type();
    }
    *static_cast<bool*>(frame->field->set(frame->target)) = value;
    return true;
  }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    if (skip_depth_ > 0) return true;
    Frame* frame = top();
    if (frame == nullptr) return wrong_type();
    if (frame->kind == Kind::list) {
      switch (frame->item) {
        case Type::int64: return append<int64_t>(*frame, text, size);
        case Type::uint32: return append<uint32_t>(*frame, text, size);
        case Type::uint64: return append<uint64_t>(*frame, text, size);
        case Type::float64: {
          auto& list = *static_cast<std::vector<double>*>(frame->target);
          return read_double({text, size}, list.emplace_back()) || wrong_type();
        }
        default: return wrong_type();
      }
    }
    if (frame->kind == Kind::counts) {
      return read_integer(text, size, *frame->count) || wrong_type();
    }
    if (frame->kind != Kind::object) return wrong_type();
    if (frame->field == nullptr) return ignored();
    void* const place =
        frame->field->type <= Type::float64 ? frame->field->set(frame->target) : nullptr;
    switch (frame->field->type) {
      case Type::int64:
        return read_integer(text, size, *static_cast<int64_t*>(place)) || wrong_type();
      case Type::uint32:
        return read_integer(text, size, *static_cast<uint32_t*>(place)) || wrong_type();
      case Type::uint64:
        return read_integer(text, size, *static_cast<uint64_t*>(place)) || wrong_type();
      case Type::float64:
        return read_double({text, size}, *static_cast<double*>(place)) || wrong_type();
      default: return wrong_type();
    }
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (has_lone_surrogate({text, size})) return lone_surrogate();
    if (skip_depth_ > 0 || ignoring()) return ignored();
    Frame* frame = top();
    if (frame == nullptr) return wrong_type();
    if (frame->kind == Kind::list && frame->item == Type::string) {
      static_cast<std::vector<std::string>*>(frame->target)->emplace_back(text, size);
      return true;
    }
    if (frame->kind != Kind::object || frame->field->type != Type::string) return wrong_type();
    static_cast<std::string*>(frame->field->set(frame->target))->assign(text, size);
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    if (has_lone_surrogate(key)) return lone_surrogate();
    if (skip_depth_ > 0) return true;
    Frame& frame = *top();
    if (frame.kind == Kind::counts) {
      auto [place, is_new] =
          static_cast<std::map<std::string, uint32_t>*>(frame.target)->emplace(key, 0);
      frame.count = &place->second;
      return is_new || duplicate(key);
    }
    return select_field(frame, key);
  }

  bool StartObject() {
    if (!enter()) return false;
    if (skip_depth_ > 0) {
      ++skip_depth_;
      return true;
    }
    if (depth_ == 1) {
      push(Kind::object, message_).shape = root_;
      return true;
    }
    Frame& frame = *top();
    if (frame.kind == Kind::objects) {
      const Shape* shape = frame.shape;
      push(Kind::object, shape->append(frame.target)).shape = shape;
      return true;
    }
    if (frame.kind != Kind::object) return wrong_type();
    if (frame.field == nullptr || frame.field->type == Type::opaque) return start_skip();
    const Field& field = *frame.field;
    if (field.type == Type::counts) {
      push(Kind::counts, field.set(frame.target));
      return true;
    }
    if (field.type != Type::object) return wrong_type();
    push(Kind::object, field.set(frame.target)).shape = field.shape;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    if (skip_depth_ > 0) return end_skip();
    const Frame& frame = *top();
    if (frame.kind == Kind::object) {
      unknown_keys_.resize(frame.unknown_begin);
      for (size_t i = 0; i < frame.shape->fields.size(); ++i) {
        const Field& row = frame.shape->fields[i];
        if (row.required && (frame.seen >> i & 1) == 0) {
          return refuse_text(cat("`", json::path_of(parent_path(), row.key), "` is missing"));
        }
      }
    }
    --frame_count_;
    return true;
  }
  bool StartArray() {
    if (!enter()) return false;
    if (skip_depth_ > 0) {
      ++skip_depth_;
      return true;
    }
    Frame* frame = top();
    if (frame == nullptr) return wrong_type();
    if (frame->kind == Kind::lists) {
      const Type item = frame->item;
      void* const outer = frame->target;
      void* inner =
          item == Type::int64
              ? static_cast<void*>(
                    &static_cast<std::vector<std::vector<int64_t>>*>(outer)->emplace_back())
              : &static_cast<std::vector<std::vector<uint32_t>>*>(outer)->emplace_back();
      Frame& list = push(Kind::list, inner);
      list.item = item;
      read_run(list);
      return true;
    }
    if (frame->kind != Kind::object) return wrong_type();
    if (frame->field == nullptr) return start_skip();
    const Field& field = *frame->field;
    if (!is_list(field.type)) return wrong_type();
    const Kind kind = field.type == Type::objects       ? Kind::objects
                      : field.type >= Type::int64_lists ? Kind::lists
                                                        : Kind::list;
    Frame& list = push(kind, field.set(frame->target));
    list.item = item_type(field.type);
    list.shape = field.shape;
    if (kind == Kind::list) read_run(list);
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    if (skip_depth_ > 0) return end_skip();
    --frame_count_;
    return true;
  }

  // Numbers arrive as text only; these exist because the reader's interface asks for them.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  std::string problem;  // why an event returned false

 private:
  enum class Kind : uint8_t { object, list, lists, objects, counts };
  struct Frame {
    Kind kind;
    Type item;             // list, lists: of the items
    void* target;          // the struct, the vector or the map
    const Shape* shape;    // object: its own; objects: of the items
    const Field* field;    // object: of the value that comes next; null = unknown, skipped
    uint64_t seen;         // object: rows that have come
    uint32_t* count;       // counts: of the value that comes next
    size_t unknown_begin;  // object: its part of unknown_keys_
  };

  Frame* top() { return frame_count_ == 0 ? nullptr : &frames_[frame_count_ - 1]; }
  // True when the value that comes next belongs to an unknown key of an open object.
  bool ignoring() {
    const Frame* frame = top();
    return frame != nullptr && frame->kind == Kind::object && frame->field == nullptr;
  }
  static bool ignored() { return true; }

  Frame& push(Kind kind, void* target) {
    Frame& frame = frames_[frame_count_++];
    frame = Frame{kind, Type::object, target, nullptr, nullptr, 0, nullptr, unknown_keys_.size()};
    return frame;
  }

  bool enter() {
    if (depth_ == kDepthMax) return refuse_text(cat("nested deeper than ", kDepthMax, " levels"));
    ++depth_;
    return true;
  }

  // Opaque objects, and values of unknown keys: RapidJSON walks over them, then the piece of the
  // line they came from is read as a tree. (Scalars of unknown keys are just passed over.)
  bool start_skip() {
    skip_depth_ = 1;
    skip_begin_ = stream_.Tell() - 1;
    return true;
  }
  bool end_skip() {
    if (--skip_depth_ > 0) return true;
    auto value = json::parse(line_.substr(skip_begin_, stream_.Tell() - skip_begin_));
    if (!value) return refuse_text(cat("`", path(), "`: ", value.refusal().detail));
    Frame& frame = *top();
    if (frame.field != nullptr) {
      *static_cast<json::Value*>(frame.field->set(frame.target)) = std::move(*value);
    }
    return true;
  }

  bool select_field(Frame& frame, std::string_view key) {
    // In canonical order the next key stands after the last one, so the search starts there.
    const std::span<const Field> rows = frame.shape->fields;
    const size_t start =
        frame.field == nullptr ? 0 : static_cast<size_t>(frame.field - rows.data()) + 1;
    for (size_t n = 0; n < rows.size(); ++n) {
      const size_t i = start + n < rows.size() ? start + n : start + n - rows.size();
      if (rows[i].key != key) continue;
      if (frame.seen >> i & 1) return duplicate(key);
      frame.seen |= uint64_t{1} << i;
      frame.field = &rows[i];
      return true;
    }
    frame.field = nullptr;
    if (unknown_spec_key_ != nullptr && frame_count_ == 2 && frames_[0].field != nullptr &&
        frames_[0].field->key == "spec") {
      *unknown_spec_key_ = key;
    } else if (frame.shape->closed) {
      return refuse_text(cat("`", json::path_of(parent_path(), key), "` is not a known key"));
    }
    for (size_t i = frame.unknown_begin; i < unknown_keys_.size(); ++i) {
      if (unknown_keys_[i] == key) return duplicate(key);
    }
    unknown_keys_.emplace_back(key);
    return true;
  }

  // Token lists are most of what is read inside timed windows, so plain runs of "digits," are taken
  // here, straight from the stream. What is left (the last number at least, anything unusual) goes
  // through RapidJSON as ever.
  void read_run(Frame& list) {
    switch (list.item) {
      case Type::int64: return read_run(*static_cast<std::vector<int64_t>*>(list.target));
      case Type::uint32: return read_run(*static_cast<std::vector<uint32_t>*>(list.target));
      case Type::uint64: return read_run(*static_cast<std::vector<uint64_t>*>(list.target));
      default: return;
    }
  }
  template <class T>
  void read_run(std::vector<T>& list) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const char* p = stream_.src_;
    const size_t left = line_.size() - stream_.Tell();
    if (const void* close = std::memchr(p, ']', left)) {
      list.reserve(static_cast<size_t>(static_cast<const char*>(close) - p) / 6);
    }
    while (true) {
      const bool negative = std::is_signed_v<T> && *p == '-';
      const char* const digits = p + (negative ? 1 : 0);
      const char* q = digits;
      T value = 0;
      for (; is_digit(*q) && q - digits < std::numeric_limits<T>::digits10; ++q) {
        value = static_cast<T>(value * 10 + static_cast<T>(*q - '0'));
      }
      const bool plain = q > digits && (*digits != '0' || (q - digits == 1 && !negative));
      // The number behind the comma stays: RapidJSON must see that something follows.
      if (!plain || *q != ',' || !(is_digit(q[1]) || q[1] == '-')) break;
      list.push_back(negative ? static_cast<T>(T{0} - value) : value);
      p = q + 1;
    }
    stream_.src_ += p - stream_.src_;
  }

  template <class T>
  bool append(Frame& frame, const char* text, size_t size) {
    auto& list = *static_cast<std::vector<T>*>(frame.target);
    return read_integer(text, size, list.emplace_back()) || wrong_type();
  }

  // "top_logits[3].logit": of the value that comes next.
  std::string path() const { return path_of_frames(frame_count_); }
  std::string parent_path() const {
    return frame_count_ == 0 ? std::string() : path_of_frames(frame_count_ - 1);
  }
  std::string path_of_frames(size_t count) const {
    std::string out;
    for (size_t i = 0; i < count; ++i) {
      const Frame& frame = frames_[i];
      if (frame.kind == Kind::object) {
        if (frame.field != nullptr) out = json::path_of(out, frame.field->key);
      } else if (frame.kind == Kind::objects) {
        const size_t size = frame.shape->size(frame.target);
        out = json::path_of(out, size == 0 ? 0 : size - 1);
      }
    }
    return out;
  }

  bool refuse_text(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  bool refuse(std::string_view what) {
    const std::string where = path();
    return refuse_text(where.empty() ? cat("the message ", what) : cat("`", where, "` ", what));
  }
  bool wrong_type() {
    const Frame* frame = top();
    if (frame == nullptr) return refuse_text("the message must be one JSON object");
    Type wanted = Type::object;
    if (frame->kind == Kind::object) wanted = frame->field->type;
    if (frame->kind == Kind::list) wanted = frame->item;
    if (frame->kind == Kind::lists) wanted = Type::int64s;
    if (frame->kind == Kind::counts) wanted = Type::uint32;
    const bool item = frame->kind == Kind::list || frame->kind == Kind::lists;
    return refuse(cat(item ? "must hold only " : "must be ", type_name(wanted)));
  }
  bool duplicate(std::string_view key) {
    return refuse_text(cat("key `", key, "` stands twice in one object"));
  }
  bool lone_surrogate() { return refuse_text("a \\u escape is half of a surrogate pair"); }

  std::string_view line_;
  rapidjson::InsituStringStream& stream_;
  std::string* unknown_spec_key_;
  const Shape* root_ = nullptr;
  void* message_ = nullptr;
  std::array<Frame, kDepthMax> frames_;  // only [0, frame_count_) is set
  size_t frame_count_ = 0;
  int depth_ = 0;
  int skip_depth_ = 0;
  size_t skip_begin_ = 0;
  std::vector<std::string> unknown_keys_;  // of the open objects around the next value
};

Status read_line(std::string_view line, const Shape& shape, void* message,
                 std::string* unknown_spec_key) {
  if (line.size() > rapidjson::SizeType(-1)) {
    return Refusal(kJson, "the line is larger than any message");
  }
  thread_local std::string scratch;
  scratch.assign(line);
  rapidjson::InsituStringStream stream(scratch.data());
  Handler handler(shape, message, line, stream, unknown_spec_key);
  rapidjson::Reader reader;
  // Depth is bounded by the handler before the recursive parser goes down, so it is safe here.
  constexpr unsigned kStrict = rapidjson::kParseInsituFlag | rapidjson::kParseValidateEncodingFlag |
                               rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult parsed = reader.Parse<kStrict>(stream, handler);
  if (!handler.problem.empty()) return Refusal(kJson, std::move(handler.problem));
  if (parsed.IsError()) {
    return Refusal(
        kJson, cat("at byte ", parsed.Offset(), ": ", rapidjson::GetParseError_En(parsed.Code())));
  }
  // RapidJSON takes a NUL byte for the end of its input.
  if (stream.Tell() != line.size()) {
    return Refusal(kJson, cat("at byte ", stream.Tell(), ": bytes after the message"));
  }
  return {};
}

// --- writer

template <class T>
void append_integer(std::string& out, T value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, static_cast<size_t>(end.ptr - buffer));
}

void append_item(std::string& out, int64_t value) {
  append_integer(out, value);
}
void append_item(std::string& out, uint32_t value) {
  append_integer(out, value);
}
void append_item(std::string& out, uint64_t value) {
  append_integer(out, value);
}
void append_item(std::string& out, double value) {
  out += format_double(value);
}
void append_item(std::string& out, const std::string& text) {
  json::append_quoted(out, text);
}
template <std::integral T>
void append_item(std::string& out, const std::vector<T>& list) {
  constexpr size_t kWidest = 21;  // "-9223372036854775808,"
  const size_t begin = out.size();
  out.resize(begin + 2 + list.size() * kWidest);
  char* p = out.data() + begin;
  *p++ = '[';
  for (const T value : list) {
    p = std::to_chars(p, p + kWidest, value).ptr;
    *p++ = ',';
  }
  if (!list.empty()) --p;
  *p++ = ']';
  out.resize(static_cast<size_t>(p - out.data()));
}
template <class T>
requires(!std::integral<T>) void append_item(std::string& out, const std::vector<T>& list) {
  out.push_back('[');
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_item(out, list[i]);
  }
  out.push_back(']');
}

template <class T>
void append_as(std::string& out, const void* value) {
  append_item(out, *static_cast<const T*>(value));
}

void append_object(std::string& out, const Shape& shape, const void* message);

void append_value(std::string& out, const Field& row, const void* value) {
  switch (row.type) {
    case Type::int64: return append_as<int64_t>(out, value);
    case Type::uint32: return append_as<uint32_t>(out, value);
    case Type::uint64: return append_as<uint64_t>(out, value);
    case Type::float64: return append_as<double>(out, value);
    case Type::boolean: out += *static_cast<const bool*>(value) ? "true" : "false"; return;
    case Type::string: return append_as<std::string>(out, value);
    case Type::int64s: return append_as<std::vector<int64_t>>(out, value);
    case Type::uint32s: return append_as<std::vector<uint32_t>>(out, value);
    case Type::uint64s: return append_as<std::vector<uint64_t>>(out, value);
    case Type::float64s: return append_as<std::vector<double>>(out, value);
    case Type::strings: return append_as<std::vector<std::string>>(out, value);
    case Type::int64_lists: return append_as<std::vector<std::vector<int64_t>>>(out, value);
    case Type::uint32_lists: return append_as<std::vector<std::vector<uint32_t>>>(out, value);
    case Type::opaque: out += json::write(*static_cast<const json::Value*>(value)); return;
    case Type::object: return append_object(out, *row.shape, value);
    case Type::objects: {
      out.push_back('[');
      for (size_t i = 0, n = row.shape->size(value); i < n; ++i) {
        if (i > 0) out.push_back(',');
        append_object(out, *row.shape, row.shape->item(value, i));
      }
      out.push_back(']');
      return;
    }
    case Type::counts: {
      out.push_back('{');
      bool first = true;
      for (const auto& [key, count] : *static_cast<const std::map<std::string, uint32_t>*>(value)) {
        if (!first) out.push_back(',');
        first = false;
        json::append_quoted(out, key);
        out.push_back(':');
        append_integer(out, count);
      }
      out.push_back('}');
      return;
    }
  }
}

void append_object(std::string& out, const Shape& shape, const void* message) {
  char separator = '{';
  for (const Field& row : shape.fields) {
    const void* value = row.get(message);
    if (value == nullptr) continue;
    out.push_back(separator);
    separator = ',';
    out.push_back('"');
    out.append(row.key);
    out.append("\":", 2);
    append_value(out, row, value);
  }
  if (separator == '{') out.push_back('{');
  out.push_back('}');
}

}  // namespace

Status read_request(std::string_view line, Request& out, std::string* unknown_spec_key) {
  out = {};
  if (unknown_spec_key != nullptr) unknown_spec_key->clear();
  return read_line(line, request_shape(), &out, unknown_spec_key);
}
Status read_response(std::string_view line, Response& out) {
  out = {};
  return read_line(line, response_shape(), &out, nullptr);
}
Result<Request> read_request(std::string_view line) {
  Request out;
  TRY_DO(read_request(line, out));
  return out;
}
Result<Response> read_response(std::string_view line) {
  Response out;
  TRY_DO(read_response(line, out));
  return out;
}

void write_request(const Request& request, std::string& out) {
  append_object(out, request_shape(), &request);
}
void write_response(const Response& response, std::string& out) {
  append_object(out, response_shape(), &response);
}
std::string write_request(const Request& request) {
  std::string out;
  write_request(request, out);
  return out;
}
std::string write_response(const Response& response) {
  std::string out;
  write_response(response, out);
  return out;
}

}  // namespace assay::protocol
