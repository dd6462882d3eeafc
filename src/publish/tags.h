// String facts of a result row: "leg" is "control". A row has a dozen of them and an envelope may
// have a million rows, so that the texts of a row stand in one, one behind the other.
// Threads  plain data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::publish {

class Tags {
 public:
  /// Key and text, as long as the tags are not changed.
  using Tag = std::pair<std::string_view, std::string_view>;

  Tags() = default;
  Tags(std::initializer_list<Tag> tags) {
    for (const auto& [key, text] : tags) put(key, text);
  }

  /// Behind the others. The key is not there yet: whoever does not know asks find().
  void put(std::string_view key, std::string_view text);
  /// Room for so many tags with so many bytes of keys and texts.
  void reserve(size_t tags, size_t bytes);
  void clear();

  [[nodiscard]] size_t size() const { return ends_.size() / 2; }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] Tag operator[](size_t i) const {
    const size_t key = i == 0 ? 0 : ends_[2 * i - 1], text = ends_[2 * i], end = ends_[2 * i + 1];
    return {std::string_view(text_).substr(key, text - key),
            std::string_view(text_).substr(text, end - text)};
  }
  /// The text of the tag with this key. Linear in the number of tags.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Tag;
    using pointer = void;
    using reference = Tag;
    Iterator() = default;
    [[nodiscard]] Tag operator*() const { return (*tags_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    void operator++(int) { ++i_; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class Tags;
    Iterator(const Tags* tags, size_t i) : tags_(tags), i_(i) {}
    const Tags* tags_ = nullptr;
    size_t i_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

  /// The same tags in the same order.
  friend bool operator==(const Tags&, const Tags&) = default;

 private:
  std::string text_;            // key, text, key, text …
  std::vector<uint32_t> ends_;  // where in text_ each of them ends
};

/// In the order of their keys.
[[nodiscard]] std::vector<Tags::Tag> sorted(const Tags& tags);

}  // namespace assay::publish
