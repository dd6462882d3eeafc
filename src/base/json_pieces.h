// A JSON file in pieces: a stream as RapidJSON reads it, with one addition: the value of a member
// that nobody wants is read over.
//
// Reading over is a check of the grammar and nothing else (the library's events for the same bytes
// cost several times as much), so that a file of which a kilobyte in a hundred megabytes is kept is
// read about as fast as memory delivers it. It accepts exactly what json::parse accepts
// (NaN and Infinity if asked for), except that keys may stand twice in what is read over.
// Threads  not safe. The file must outlive the stream.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::json {

class PieceStream {
 public:
  using Ch = char;

  explicit PieceStream(std::FILE* file, size_t piece_bytes = size_t{64} * 1024);

  // RapidJSON's stream. Behind the last byte stands a NUL.
  [[nodiscard]] char Peek() const { return *at_; }
  char Take() {
    const char c = *at_;
    if (++at_ == end_) refill();
    return c;
  }
  [[nodiscard]] size_t Tell() const { return before_ + static_cast<size_t>(at_ - begin_); }
  char* PutBegin() { return nullptr; }  // these are of streams that are written to
  void Put(char) {}
  void Flush() {}
  size_t PutEnd(char*) { return 0; }

  /// Passes `text` when the stream, at its beginning, goes on with it.
  void pass_prefix(std::string_view text);

  /// With the stream behind a member's key: reads over the colon and the value, and leaves `:0` to
  /// be read in their place. `depth_left`: how many objects and arrays may stand in one another in
  /// the value. Refuses JSON-SYNTAX and JSON-TOO-DEEP.
  [[nodiscard]] Status read_over_member(int depth_left, bool allow_non_finite);
  /// With the stream before an object or array: reads over what is in it, and leaves it empty.
  [[nodiscard]] Status read_over_inside(int depth_left, bool allow_non_finite);

 private:
  void refill();
  [[nodiscard]] bool wrong(const char* what);  // false, for the caller to return
  void pass_space();
  [[nodiscard]] Status result_of(bool passed) const;
  [[nodiscard]] bool at_end_of_innermost() const;
  bool pass_values(size_t kept, size_t depth_left, bool allow_non_finite);
  bool pass_scalar(bool allow_non_finite);
  bool pass_key();
  bool pass_string();
  bool pass_escape();
  bool pass_rune(unsigned char first);
  bool pass_number(bool allow_non_finite);
  bool pass_digits();
  bool pass_word(std::string_view word);
  bool pass_hex4(unsigned& value);

  std::FILE* file_;
  std::vector<char> storage_;  // room for what read_over_member leaves, then one piece
  char* begin_ = nullptr;      // of the piece
  char* at_ = nullptr;
  char* end_ = nullptr;  // at_ is always before it
  size_t before_ = 0;    // bytes of the pieces before this one
  bool ended_ = false;
  std::vector<bool> open_;  // brackets in what is read over; true: of an object
  const char* problem_ = nullptr;
  bool too_deep_ = false;
};

}  // namespace assay::json
