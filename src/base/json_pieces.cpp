#include "base/json_pieces.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/refusals.h"
#include "base/text.h"

namespace assay::json {

namespace {

constexpr std::string_view kLeft = ":0";  // stands in place of a member that was read over

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A byte of a string that is neither its end, nor an escape, a control or part of a longer rune.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

// The first byte from `at` on that is not plain; eight at a time.
char* plain_end(char* at, const char* end) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const auto has_zero = [](uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  while (end - at >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
    if (((word & kHigh) | control | has_zero(word ^ (kOnes * '"')) |
         has_zero(word ^ (kOnes * '\\'))) != 0)
      break;
    at += 8;
  }
  while (at != end && is_plain(*at)) ++at;
  return at;
}

}  // namespace

PieceStream::PieceStream(std::FILE* file, size_t piece_bytes)
    : file_(file), storage_(kLeft.size() + std::max<size_t>(piece_bytes, 1)) {
  begin_ = at_ = end_ = storage_.data() + kLeft.size();
  refill();
}

// The next piece. After the last one a NUL stands for ever.
void PieceStream::refill() {
  if (!ended_) {
    before_ += static_cast<size_t>(end_ - begin_);
    const size_t got = std::fread(begin_, 1, storage_.size() - kLeft.size(), file_);
    ended_ = got == 0;
    if (ended_) *begin_ = '\0';
    end_ = begin_ + std::max<size_t>(got, 1);
  }
  at_ = begin_;
}

void PieceStream::pass_prefix(std::string_view text) {
  if (static_cast<size_t>(end_ - at_) < text.size() || std::string_view(at_, text.size()) != text) {
    return;
  }
  for (size_t i = 0; i < text.size(); ++i) Take();
}

Status PieceStream::read_over_member(int depth_left, bool allow_non_finite) {
  open_.clear();
  pass_space();
  if (Peek() != ':') return result_of(wrong("a key without its colon"));
  Take();
  TRY_DO(result_of(pass_values(0, static_cast<size_t>(depth_left), allow_non_finite)));
  at_ -= kLeft.size();
  std::copy(kLeft.begin(), kLeft.end(), at_);
  return {};
}

Status PieceStream::read_over_inside(int depth_left, bool allow_non_finite) {
  const char bracket = Take();
  open_.assign(1, bracket == '{');
  pass_space();
  TRY_DO(result_of(at_end_of_innermost() ||
                   ((!open_.back() || pass_key()) &&
                    pass_values(1, static_cast<size_t>(depth_left), allow_non_finite))));
  *--at_ = bracket;
  return {};
}

Status PieceStream::result_of(bool passed) const {
  if (passed) return {};
  return Refusal(too_deep_ ? kJsonTooDeep : kJsonSyntax, cat("at byte ", Tell(), ": ", problem_));
}

bool PieceStream::wrong(const char* what) {
  problem_ = what;
  return false;
}

void PieceStream::pass_space() {
  while (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t') Take();
}

bool PieceStream::at_end_of_innermost() const {
  return Peek() == (open_.back() ? '}' : ']');
}

// From where a value begins to the end of the outermost: behind it, or, when its opening bracket
// was passed before (`kept` is 1), before its closing one. What stands open is a stack of our own:
// depth costs a bit, never the C++ stack.
bool PieceStream::pass_values(size_t kept, size_t depth_left, bool allow_non_finite) {
  for (;;) {
    pass_space();
    if (Peek() == '{' || Peek() == '[') {
      const bool object = Take() == '{';
      if (open_.size() - kept == depth_left) {
        too_deep_ = true;
        return wrong("nested too deep");
      }
      open_.push_back(object);
      pass_space();
      if (!at_end_of_innermost()) {
        if (object && !pass_key()) return false;
        continue;
      }
    } else if (!pass_scalar(allow_non_finite)) {
      return false;
    }
    // Behind a value, or an opening bracket before its end: what else ends here?
    for (;;) {
      if (open_.empty()) return true;
      pass_space();
      if (at_end_of_innermost()) {
        if (open_.size() == kept) return true;
        Take();
        open_.pop_back();
        continue;
      }
      if (Peek() != ',') return wrong("neither a comma nor the end of an object or array");
      Take();
      pass_space();
      if (open_.back() && !pass_key()) return false;
      break;
    }
  }
}

bool PieceStream::pass_scalar(bool allow_non_finite) {
  switch (Peek()) {
    case '"': Take(); return pass_string();
    case 't': return pass_word("true");
    case 'f': return pass_word("false");
    case 'n': return pass_word("null");
    default: return pass_number(allow_non_finite);
  }
}

bool PieceStream::pass_key() {
  if (Peek() != '"') return wrong("an object's member without a key");
  Take();
  if (!pass_string()) return false;
  pass_space();
  if (Peek() != ':') return wrong("a key without its colon");
  Take();
  return true;
}

// Behind the opening quote.
bool PieceStream::pass_string() {
  for (;;) {
    at_ = plain_end(at_, end_);
    if (at_ == end_) {
      refill();
      continue;
    }
    const auto byte = static_cast<unsigned char>(Peek());
    if (byte < 0x20) return wrong("a string without its closing quote, or a control in it");
    Take();
    if (byte == '"') return true;
    if (byte == '\\' ? !pass_escape() : !pass_rune(byte)) return false;
  }
}

bool PieceStream::pass_escape() {
  if (Peek() != 'u') {
    if (Peek() == '\0' || std::strchr("\"\\/bfnrt", Peek()) == nullptr)
      return wrong("an unknown escape");
    Take();
    return true;
  }
  Take();
  unsigned unit = 0;
  if (!pass_hex4(unit)) return false;
  if (unit < 0xD800 || unit > 0xDFFF) return true;
  constexpr const char* kHalf = "a \\u escape is half of a surrogate pair";
  if (unit >= 0xDC00 || Peek() != '\\') return wrong(kHalf);
  Take();
  if (Peek() != 'u') return wrong(kHalf);
  Take();
  if (!pass_hex4(unit)) return false;
  return (unit >= 0xDC00 && unit <= 0xDFFF) || wrong(kHalf);
}

bool PieceStream::pass_hex4(unsigned& value) {
  value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = Peek();
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && !(lower >= 'a' && lower <= 'f'))
      return wrong("a \\u escape without 4 hex digits");
    value = value * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : lower - 'a' + 10);
    Take();
  }
  return true;
}

// The rest of a rune of two to four bytes: the shortest form of a code point that is no surrogate
// (RFC 3629, table of well-formed sequences).
bool PieceStream::pass_rune(unsigned char first) {
  int more = 0;
  unsigned char low = 0x80, high = 0xBF;  // of the second byte
  if (first >= 0xC2 && first <= 0xDF) {
    more = 1;
  } else if (first >= 0xE0 && first <= 0xEF) {
    more = 2;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    more = 3;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return wrong("bytes that are not UTF-8");
  }
  for (; more > 0; --more) {
    const auto byte = static_cast<unsigned char>(Peek());
    if (byte < low || byte > high) return wrong("bytes that are not UTF-8");
    Take();
    low = 0x80;
    high = 0xBF;
  }
  return true;
}

bool PieceStream::pass_digits() {
  if (!is_digit(Peek())) return wrong("neither a value nor a digit of a number");
  while (is_digit(Peek())) Take();
  return true;
}

bool PieceStream::pass_number(bool allow_non_finite) {
  if (Peek() == '-') Take();
  if (allow_non_finite && Peek() == 'N') return pass_word("NaN");
  if (allow_non_finite && Peek() == 'I') {
    if (!pass_word("Inf")) return false;
    return Peek() != 'i' || pass_word("inity");
  }
  if (Peek() == '0') {
    Take();
  } else if (!pass_digits()) {
    return false;
  }
  if (Peek() == '.') {
    Take();
    if (!pass_digits()) return false;
  }
  if (Peek() == 'e' || Peek() == 'E') {
    Take();
    if (Peek() == '+' || Peek() == '-') Take();
    if (!pass_digits()) return false;
  }
  return true;
}

bool PieceStream::pass_word(std::string_view word) {
  for (const char c : word) {
    if (Peek() != c) return wrong("neither a value nor a known word");
    Take();
  }
  return true;
}

}  // namespace assay::json
