#include "base/json_document.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "base/ensure.h"
#include "base/files.h"
#include "base/input_file.h"
#include "base/json_events.h"
#include "base/json_pieces.h"

namespace assay::json {

Kind Node::kind() const {
  ENSURE(entry_ != nullptr);
  return static_cast<Kind>(entry_->kind);
}
bool Node::is_integer() const {
  return is_number() && literal().find_first_not_of("-0123456789") == std::string_view::npos;
}
bool Node::boolean() const {
  ENSURE(is_boolean());
  return entry_->size != 0;
}
std::string_view Node::string() const {
  ENSURE(is_string());
  return {entry_->text, entry_->size};
}
std::string_view Node::literal() const {
  ENSURE(is_number());
  return {entry_->text, entry_->size};
}
Items Node::items() const {
  if (!is_array()) return {};
  return {entry_ + 1, entry_ + entry_->span, entry_->size};
}
Members Node::members() const {
  if (!is_object()) return {};
  return {entry_ + 1, entry_ + entry_->span, entry_->size};
}

Node Node::find(std::string_view key) const {
  if (!is_object()) return {};
  const Entry* const end = entry_ + entry_->span;
  for (const Entry* at = entry_ + 1; at != end; at += 1 + at[1].span) {
    if (at->size == key.size() && std::memcmp(at->text, key.data(), key.size()) == 0 &&
        at->kind != kDropped)
      return Node(at + 1);
  }
  return {};
}

Node Node::at(std::initializer_list<std::string_view> keys) const {
  Node at = *this;
  for (const std::string_view key : keys) at = at.find(key);
  return at;
}

std::optional<double> Node::as_double() const {
  if (!is_number()) return std::nullopt;
  return finite_number(literal());
}

Value Node::to_value() const {
  if (entry_ == nullptr) return {};
  switch (kind()) {
    case Kind::null: break;
    case Kind::boolean: return Value(boolean());
    case Kind::number: return Value::number(std::string(literal()));
    case Kind::string: return Value(string());
    case Kind::array: {
      std::vector<Value> out;
      for (const Node item : items()) out.push_back(item.to_value());
      return Value::array(std::move(out));
    }
    case Kind::object: {
      std::vector<Member> out;
      for (const auto& [key, value] : members())
        out.emplace_back(std::string(key), value.to_value());
      return Value::object(std::move(out));
    }
  }
  return {};
}

bool is_non_finite(std::string_view literal) {
  const size_t sign = literal.starts_with('-') ? 1 : 0;
  return literal.size() > sign && (literal[sign] == 'N' || literal[sign] == 'I');
}

// Makes the entries of a document from RapidJSON's events.
class DocumentReader {
 public:
  using Entry = Node::Entry;

  DocumentReader(Document& document, const ReadOptions& options)
      : entries_(document.entries_),
        document_(document),
        depth_max_(options.depth_max),
        allow_non_finite_(options.allow_non_finite) {
    for (const std::string_view wanted : options.read_over) {
      const size_t at = wanted.rfind('@');
      const auto depth =
          at == std::string_view::npos ? std::nullopt : parse_int64(wanted.substr(at + 1));
      const std::string_view key = depth ? wanted.substr(0, at) : wanted;
      const bool counted = key.ends_with("[]");
      unwanted_.push_back({counted ? key.substr(0, key.size() - 2) : key,
                           depth ? static_cast<int>(*depth) : -1, counted});
    }
  }

  // The texts of the events do not last: they are copied.
  void copy_texts() { copied_ = true; }
  // The text has no \u: none of its strings can be wrong for one.
  void expect_no_escapes() { has_escapes_ = false; }
  // A stream that can read over what is not wanted: the value of the key just seen, of which a
  // scalar is left, and what is in the coming object or array.
  void read_over_with(PieceStream& stream) { stream_ = &stream; }

  std::optional<Refusal> problem;

  void begin_value() { ++document_.size_; }

  bool Null() { return scalar(Kind::null, {}, 0); }
  bool Bool(bool value) { return scalar(Kind::boolean, {}, value ? 1 : 0); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    if (is_non_finite({text, size})) {
      problem = problem_of_number({text, size});
      if (problem) return false;
      document_.has_non_finite_ = document_.has_non_finite_ || !reading_over();
    }
    return scalar(Kind::number, text, size);
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (has_escapes_) problem = problem_of_string({text, size});
    return !problem && scalar(Kind::string, text, size);
  }
  // Numbers arrive as text only; these exist because the reader's interface asks for them.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  bool StartObject() { return open(Kind::object); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Kind::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (has_escapes_) problem = problem_of_string({text, size});
    if (problem) return false;
    if (reading_over()) return true;
    const std::string_view key(text, size);
    for (const Unwanted& unwanted : unwanted_) {
      if (unwanted.key != key || (unwanted.depth >= 0 && unwanted.depth != depth_)) continue;
      if (unwanted.counted) {
        count_next_ = true;
        break;
      }
      drop_earlier(key);
      over_from_ = depth_;
      return stream_ == nullptr ||
             passed(stream_->read_over_member(depth_max_ - depth_, allow_non_finite_));
    }
    drop_earlier(key);
    Frame& frame = frames_.back();
    if (frame.index) frame.index->insert_or_assign(std::string(key), entries_.size());
    put(Kind::string, text, size);
    ++entries_[frame.at].size;
    return true;
  }

 private:
  struct Unwanted {
    std::string_view key;
    int depth;  // of objects and arrays around the member; -1 = any
    bool counted;
  };

  // Enough for the forty keys of an object to have hardly two on one bit; >> 55 leaves nine bits.
  static constexpr size_t kBits = 512;
  // An open object or array.
  struct Frame {
    size_t at;                  // its entry
    bool counted = false;       // an array of which only the number of items is wanted
    std::bitset<kBits> seen{};  // one bit a key, of its text: one that is not set is a new key
    std::unique_ptr<std::unordered_map<std::string, size_t>> index{};  // of many members
  };
  static constexpr uint32_t kIndexFrom = 64;  // from this many members on a hash index pays

  bool passed(const Status& status) {
    if (!status) problem = status.refusal();
    return static_cast<bool>(status);
  }

  // Between the key of what is read over and the end of its value.
  [[nodiscard]] bool reading_over() const { return over_from_ >= 0; }

  void put(Kind kind, const char* text, uint32_t size) {
    if (copied_ && text != nullptr) text = copy(text, size);
    entries_.push_back({text, size, static_cast<uint32_t>(kind) & 7, 1});
  }

  bool scalar(Kind kind, const char* text, uint32_t size) {
    if (reading_over()) {
      if (depth_ == over_from_) over_from_ = -1;  // this was the whole value
      return true;
    }
    count_next_ = false;
    count_item();
    put(kind, text, size);
    return true;
  }

  // An item of an array; a member was counted with its key.
  void count_item() {
    if (frames_.empty()) return;
    Entry& around = entries_[frames_.back().at];
    if (around.kind == static_cast<uint32_t>(Kind::array)) ++around.size;
  }

  bool open(Kind kind) {
    if (++depth_ > depth_max_) {
      problem = too_deep(depth_max_);
      return false;
    }
    if (reading_over()) return true;
    count_item();
    if (!frames_.empty() && frames_.back().counted) {
      put(Kind::null, nullptr, 0);
      over_from_ = depth_ - 1;
      return stream_ == nullptr ||
             passed(stream_->read_over_inside(depth_max_ - depth_, allow_non_finite_));
    }
    frames_.push_back({entries_.size(), kind == Kind::array && count_next_});
    count_next_ = false;
    put(kind, nullptr, 0);
    return true;
  }

  bool close() {
    --depth_;
    if (reading_over()) {
      if (depth_ == over_from_) over_from_ = -1;
      return true;
    }
    const size_t at = frames_.back().at;
    frames_.pop_back();
    entries_[at].span = static_cast<uint32_t>(entries_.size() - at) & kSpanMax;
    return true;
  }

  // Takes out the member of the innermost object that has this key already. Most keys are seen to
  // be new by their bit alone.
  void drop_earlier(std::string_view key) {
    Frame& frame = frames_.back();
    const size_t bit = bit_of(key);
    const bool maybe = frame.seen.test(bit);
    frame.seen.set(bit);
    if (!maybe) return;
    const size_t earlier = find(frame, key);
    if (earlier == 0) return;
    if (frame.index) frame.index->erase(std::string(key));
    entries_[earlier].kind = Node::kDropped;
    --entries_[frame.at].size;
  }

  static size_t bit_of(std::string_view key) {
    uint64_t first = 0, last = 0;
    const size_t size = std::min<size_t>(key.size(), 8);
    std::memcpy(&first, key.data(), size);
    std::memcpy(&last, key.data() + key.size() - size, size);
    return ((first * 0x9E3779B97F4A7C15 ^ last) * 0xC2B2AE3D27D4EB4F + key.size()) >> 55;
  }

  // Where the open object has this key; 0 where it has not.
  size_t find(Frame& frame, std::string_view key) {
    if (entries_[frame.at].size >= kIndexFrom && !frame.index) {
      frame.index = std::make_unique<std::unordered_map<std::string, size_t>>();
      for_keys(frame.at, [&](size_t at) {
        frame.index->emplace(std::string(entries_[at].text, entries_[at].size), at);
        return false;
      });
    }
    if (frame.index) {
      const auto found = frame.index->find(std::string(key));
      return found == frame.index->end() ? 0 : found->second;
    }
    return for_keys(frame.at, [&](size_t at) {
      return std::string_view(entries_[at].text, entries_[at].size) == key;
    });
  }

  // The first key of the object at `object` of which `wanted` is true; 0 without one.
  template <class Wanted>
  size_t for_keys(size_t object, Wanted wanted) {
    for (size_t at = object + 1; at < entries_.size(); at += 1 + entries_[at + 1].span) {
      if (entries_[at].kind != Node::kDropped && wanted(at)) return at;
    }
    return 0;
  }

  const char* copy(const char* text, size_t size) {
    if (room_ < size) {
      room_ = std::max<size_t>(kBlock, size);
      document_.texts_.push_back(std::make_unique_for_overwrite<char[]>(room_));
      free_ = document_.texts_.back().get();
    }
    char* const out = free_;
    std::memcpy(out, text, size);
    free_ += size;
    room_ -= size;
    return out;
  }

  static constexpr size_t kBlock = size_t{64} << 10;
  static constexpr uint32_t kSpanMax = (uint32_t{1} << 29) - 1;

  std::vector<Entry>& entries_;
  Document& document_;
  int depth_max_;
  bool allow_non_finite_;
  std::vector<Unwanted> unwanted_;
  std::vector<Frame> frames_;
  int depth_ = 0;
  int over_from_ = -1;       // depth at which what is read over stands; -1 = keeping
  bool count_next_ = false;  // of the coming value, an array's, only the number of items is wanted
  PieceStream* stream_ = nullptr;
  bool copied_ = false;
  bool has_escapes_ = true;
  char* free_ = nullptr;
  size_t room_ = 0;
};

namespace {

// Every byte of a text may be an entry; a span has 29 bits.
constexpr uint64_t kSizeMax = (uint64_t{1} << 29) - 1;

template <unsigned kFlags, class Stream>
Status read_from(Stream& stream, size_t size, const ReadOptions& options, DocumentReader& reader) {
  return options.allow_non_finite
             ? read_values<kFlags | rapidjson::kParseNanAndInfFlag>(stream, size, reader)
             : read_values<kFlags>(stream, size, reader);
}

// Decodes in place. `text` ends with the parser's room: NULs for its last sixteen bytes.
constexpr size_t kRoom = 32;
Status read_in_place(char* text, size_t size, const ReadOptions& options, DocumentReader& reader) {
  constexpr unsigned kInPlace = rapidjson::kParseInsituFlag;
  rapidjson::InsituStringStream stream(text);
  if (std::string_view(text, size).find("\\u") == std::string_view::npos)
    reader.expect_no_escapes();
  // Checked as a whole the text is scanned faster than string by string; what is wrong with it is
  // then said by the slower way.
  return is_utf8({text, size}) ? read_from<kInPlace>(stream, size, options, reader)
                               : read_from<kInPlace | rapidjson::kParseValidateEncodingFlag>(
                                     stream, size, options, reader);
}

size_t mark_size(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

std::unique_ptr<char[]> text_of_size(size_t size) {
  auto text = std::make_unique_for_overwrite<char[]>(size + kRoom);
  std::memset(text.get() + size, 0, kRoom);
  return text;
}

}  // namespace

Result<Document> Document::parse(std::string_view bytes, const ReadOptions& options) {
  if (bytes.size() > kSizeMax)
    return Refusal(kFileTooLarge, cat("a text of ", bytes.size(), " bytes"));
  bytes.remove_prefix(mark_size(bytes));
  Document document;
  document.texts_.push_back(text_of_size(bytes.size()));
  char* const text = document.texts_.back().get();
  std::memcpy(text, bytes.data(), bytes.size());
  DocumentReader reader(document, options);
  TRY_DO(read_in_place(text, bytes.size(), options, reader));
  return document;
}

Result<Document> Document::read(const std::filesystem::path& path, uint64_t size_max,
                                const ReadOptions& options) {
  TRY(file, open_input_stream(path));
  std::error_code error;
  const bool has_size = std::filesystem::is_regular_file(path, error);
  const uint64_t size = has_size ? std::filesystem::file_size(path, error) : 0;
  if (error) return Refusal(kFileUnreadable, cat("`", path.string(), "`: ", error.message()));
  size_max = std::min(size_max, kSizeMax);
  if (size > size_max) {
    return Refusal(kFileTooLarge, cat("`", path.string(), "` has ", size, " bytes, at most ",
                                      size_max, " are read"));
  }
  if (size == 0) {  // a standard input that is a pipe does not say its size
    TRY(bytes, read_file(path, size_max));
    auto document = parse(bytes, options);
    if (!document) return at(path.string(), document.refusal());
    return document;
  }
  Document document;
  DocumentReader reader(document, options);
  constexpr uint64_t kHeldMax = uint64_t{24} << 20;
  if (size <= kHeldMax || options.read_over.empty()) {
    document.texts_.push_back(text_of_size(size));
    char* const text = document.texts_.back().get();
    const size_t got = std::fread(text, 1, size, file.get());
    if (got != size)
      return Refusal(kFileUnreadable,
                     cat("`", path.string(), "` ended after ", got, " of ", size, " bytes"));
    const size_t from = mark_size({text, size});
    const Status done = read_in_place(text + from, size - from, options, reader);
    if (!done) return at(path.string(), done.refusal());
    return document;
  }
  PieceStream stream(file.get());
  stream.pass_prefix(kByteOrderMark);
  reader.copy_texts();
  reader.read_over_with(stream);
  const Status done =
      read_from<rapidjson::kParseValidateEncodingFlag>(stream, size, options, reader);
  if (!done) return at(path.string(), done.refusal());
  return document;
}

Items Document::values() const {
  return {entries_.data(), entries_.data() + entries_.size(), size_};
}

}  // namespace assay::json
