// JSON that is only looked at: a file of another program, read once into flat entries.
//
// A value costs 16 bytes and no memory of its own; its text is decoded where the file was read to.
// So a document of many small values is read several times as fast as json::Value, which is for
// what is changed and written.
// Reading   what json::parse reads, and what other tools write beside it: a byte order mark, NaN
//           and Infinity as numbers (if allowed), a key twice in an object (its last value counts).
// Errors    JSON-SYNTAX, JSON-TOO-DEEP; of a file FILE-UNREADABLE and FILE-TOO-LARGE too.
// Threads   a document is plain data once it is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::json {

class Items;
class Members;

/// One value of a Document, or none. Cheap to copy; the document must outlive it and the texts.
/// Whoever looks into none, or into a value of another kind, finds none.
class Node {
 public:
  Node() = default;  // none

  [[nodiscard]] explicit operator bool() const { return entry_ != nullptr; }
  /// Needs a value (ENSURE).
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return is(Kind::null); }
  [[nodiscard]] bool is_boolean() const { return is(Kind::boolean); }
  [[nodiscard]] bool is_object() const { return is(Kind::object); }
  [[nodiscard]] bool is_array() const { return is(Kind::array); }
  [[nodiscard]] bool is_string() const { return is(Kind::string); }
  [[nodiscard]] bool is_number() const { return is(Kind::number); }
  /// A number written without fraction and exponent.
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] bool is_true() const { return is_boolean() && boolean(); }

  // The kind must match (ENSURE).
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string_view string() const;
  [[nodiscard]] std::string_view literal() const;  // a number's source text

  /// Items of an array, members of an object in the order of the source: none of anything else.
  [[nodiscard]] Items items() const;
  [[nodiscard]] Members members() const;

  /// The member with this key. Linear in the number of members.
  [[nodiscard]] Node find(std::string_view key) const;
  /// The member of the member …: at({"config", "backend", "model"}).
  [[nodiscard]] Node at(std::initializer_list<std::string_view> keys) const;

  /// A number that is finite as a double; nothing otherwise.
  [[nodiscard]] std::optional<double> as_double() const;

  /// A copy that can be changed and outlives the document; null of none.
  [[nodiscard]] Value to_value() const;

 private:
  friend class Document;
  friend class Items;
  friend class Members;
  friend class DocumentReader;
  // Values stand in the order of the text, what is in an object or array directly behind it. A
  // member is its key, then its value.
  struct Entry {
    const char* text = nullptr;  // of a key, string or number
    uint32_t size = 0;  // of the text; of an object or array the members or items; 1 = true
    uint32_t kind : 3 = 0;
    uint32_t span : 29 = 1;  // entries of the whole value, itself among them
  };
  static constexpr uint32_t kDropped = 7;  // kind of a key that stands again further on

  explicit Node(const Entry* entry) : entry_(entry) {}
  [[nodiscard]] bool is(Kind kind) const {
    return entry_ != nullptr && entry_->kind == static_cast<uint32_t>(kind);
  }

  const Entry* entry_ = nullptr;
};

/// Items of an array, or the values of a document.
class Items {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Node;
    using pointer = void;
    using reference = Node;
    Iterator() = default;
    [[nodiscard]] Node operator*() const { return Node(at_); }
    Iterator& operator++() {
      at_ += at_->span;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class Items;
    explicit Iterator(const Node::Entry* at) : at_(at) {}
    const Node::Entry* at_ = nullptr;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(begin_); }
  [[nodiscard]] Iterator end() const { return Iterator(end_); }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// The first item, or none.
  [[nodiscard]] Node front() const { return empty() ? Node() : Node(begin_); }

 private:
  friend class Node;
  friend class Document;
  Items() = default;
  Items(const Node::Entry* begin, const Node::Entry* end, size_t size)
      : begin_(begin), end_(end), size_(size) {}
  const Node::Entry* begin_ = nullptr;
  const Node::Entry* end_ = nullptr;
  size_t size_ = 0;
};

/// Members of an object: pairs of key and value.
class Members {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = std::pair<std::string_view, Node>;
    using pointer = void;
    using reference = value_type;
    Iterator() = default;
    [[nodiscard]] std::pair<std::string_view, Node> operator*() const {
      return {{at_->text, at_->size}, Node(at_ + 1)};
    }
    Iterator& operator++() {
      at_ += 1 + at_[1].span;
      pass_dropped();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    friend class Members;
    Iterator(const Node::Entry* at, const Node::Entry* end) : at_(at), end_(end) { pass_dropped(); }
    void pass_dropped() {
      while (at_ != end_ && at_->kind == Node::kDropped) at_ += 1 + at_[1].span;
    }
    const Node::Entry* at_ = nullptr;
    const Node::Entry* end_ = nullptr;
  };
  [[nodiscard]] Iterator begin() const { return {begin_, end_}; }
  [[nodiscard]] Iterator end() const { return {end_, end_}; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  friend class Node;
  Members() = default;
  Members(const Node::Entry* begin, const Node::Entry* end, size_t size)
      : begin_(begin), end_(end), size_(size) {}
  const Node::Entry* begin_ = nullptr;
  const Node::Entry* end_ = nullptr;
  size_t size_ = 0;
};

/// Whether a number's source text is NaN, Infinity or -Infinity.
[[nodiscard]] bool is_non_finite(std::string_view literal);

struct ReadOptions {
  int depth_max = 256;           // objects and arrays inside one another
  bool allow_non_finite = true;  // NaN, Infinity, -Infinity as numbers
  // Keys read over, not kept; `key@2`: inside two levels. Of the array of a key `key[]` the number
  // of items is kept: objects and arrays in it become null.
  std::vector<std::string> read_over{};
};

/// One or more values with white space between them (JSON lines). A file of which members are read
/// over is read in pieces when it is large: memory grows with what is kept, not with the file.
class Document {
 public:
  Document() = default;  // no value
  [[nodiscard]] static Result<Document> parse(std::string_view bytes,
                                              const ReadOptions& options = {});
  [[nodiscard]] static Result<Document> read(const std::filesystem::path& path, uint64_t size_max,
                                             const ReadOptions& options = {});

  Document(Document&&) noexcept = default;
  Document& operator=(Document&&) noexcept = default;

  [[nodiscard]] Items values() const;
  /// Whether a number in what is kept is NaN or Infinity.
  [[nodiscard]] bool has_non_finite() const { return has_non_finite_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  friend class DocumentReader;
  std::vector<Node::Entry> entries_;
  size_t size_ = 0;  // values
  bool has_non_finite_ = false;
  std::vector<std::unique_ptr<char[]>> texts_;  // what the entries point into
};

}  // namespace assay::json
