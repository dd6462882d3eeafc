#include "engine/tokenizer/splitter.h"

#include <iterator>

#include "engine/tokenizer/unicode.h"

namespace assay::engine::tokenizer {
namespace {

// Files name the same expression by several words; these are the ones llama.cpp writes for models
// of the supported architectures. SmolLM's expression is StarCoder's.
constexpr PreTokenizer kPreTokenizers[] = {
    {"gpt-2", Splitter::gpt2, false, false},
    {"default", Splitter::gpt2, false, false},
    {"phi-2", Splitter::gpt2, false, false},
    {"smollm", Splitter::smollm, false, false},
    {"starcoder", Splitter::smollm, false, false},
    {"qwen2", Splitter::qwen2, false, false},
    {"deepseek-r1-qwen", Splitter::qwen2, false, false},
    {"qwen35", Splitter::qwen35, false, false},
    {"llama-bpe", Splitter::llama_bpe, true, true},
    {"llama3", Splitter::llama_bpe, true, true},
    {"llama-v3", Splitter::llama_bpe, true, true},
};

// One character of look-ahead over a text; `end` where there is none.
struct Char {
  uint32_t code_point = 0;
  CharClass char_class = CharClass::end;
  size_t next = 0;  // where the following character starts

  [[nodiscard]] bool is(CharClass wanted) const { return char_class == wanted; }
  [[nodiscard]] bool is_newline() const { return code_point == '\r' || code_point == '\n'; }
  [[nodiscard]] bool is_space() const { return code_point == ' '; }
};

class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  [[nodiscard]] Char at(size_t position) const {
    if (position >= text_.size()) return {0, CharClass::end, position};
    const DecodedChar decoded = decode_utf8(text_, position);
    return {decoded.code_point, class_of(decoded.code_point),
            position + (decoded.size_bytes == 0 ? 1 : decoded.size_bytes)};
  }

  // The end of the run of characters for which `belongs` holds.
  template <class Belongs>
  [[nodiscard]] size_t run(size_t position, const Belongs& belongs) const {
    for (;;) {
      const Char c = at(position);
      if (c.is(CharClass::end) || !belongs(c)) return position;
      position = c.next;
    }
  }

  [[nodiscard]] std::string_view from(size_t position) const { return text_.substr(position); }

 private:
  std::string_view text_;
};

bool is_letter(const Char& c) {
  return c.is(CharClass::letter);
}
bool is_letter_or_mark(const Char& c) {
  return is_letter(c) || c.is(CharClass::mark);
}
bool is_number(const Char& c) {
  return c.is(CharClass::number);
}
bool is_white(const Char& c) {
  return c.is(CharClass::white_space);
}
bool is_punctuation(const Char& c) {
  return c.is(CharClass::other) || c.is(CharClass::mark);
}
bool is_punctuation_only(const Char& c) {
  return c.is(CharClass::other);
}

// 's|'t|'re|'ve|'m|'ll|'d; with any_case also in capitals, each letter by itself. 0 = none here.
size_t contraction_end(const Text& text, size_t at, bool any_case) {
  const std::string_view rest = text.from(at);
  if (rest.size() < 2 || rest[0] != '\'') return 0;
  const auto letter = [&](size_t i) {
    const char c = i < rest.size() ? rest[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(1);
  const char second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l')) {
    return at + 3;
  }
  return 0;
}

// \s+(?!\S)|\s+ : white space up to the end of the text, else all but its last character (which
// goes with the word that follows), else that one character.
size_t white_end(const Text& text, size_t at) {
  size_t last = at;
  size_t end = at;
  for (Char c = text.at(at); is_white(c); c = text.at(end)) {
    last = end;
    end = c.next;
  }
  if (text.at(end).is(CharClass::end)) return end;
  return last > at ? last : end;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2_end(const Text& text, size_t at) {
  if (const size_t end = contraction_end(text, at, false); end != 0) return end;
  const Char first = text.at(at);
  const Char core = first.is_space() ? text.at(first.next) : first;  // after the optional space
  if (is_letter(core)) return text.run(core.next, is_letter);
  if (is_number(core)) return text.run(core.next, is_number);
  if (is_punctuation(core)) return text.run(core.next, is_punctuation);
  return white_end(text, at);
}

// First pass: every \p{N} by itself. Second pass: gpt-2 on the runs between.
size_t smollm_end(std::string_view whole, size_t at) {
  const Text text(whole);
  const Char first = text.at(at);
  if (is_number(first)) return first.next;
  // A piece never passes a number, except that the text before one ends there. Only white space
  // looks at what follows, so only its runs are cut to the run between.
  if (!is_white(first)) {
    if (const size_t end = contraction_end(text, at, false); end != 0) return end;
    return is_letter(first) ? text.run(at, is_letter) : text.run(at, is_punctuation);
  }
  const size_t run_end = text.run(at, is_white);
  if (is_number(text.at(run_end))) return run_end;
  return gpt2_end(text, at);
}

// (?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,D}
// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// D is 1 for qwen2 and qwen35, 3 for llama-bpe. qwen35 reads [\p{L}\p{M}]+ for \p{L}+ and keeps
// \p{M} out of the punctuation.
size_t modern_end(const Text& text, size_t at, int digits_max, bool marks_are_letters) {
  if (const size_t end = contraction_end(text, at, true); end != 0) return end;
  const auto belongs_to_word = marks_are_letters ? is_letter_or_mark : is_letter;
  const auto belongs_to_punctuation = marks_are_letters ? is_punctuation_only : is_punctuation;

  const Char first = text.at(at);
  if (belongs_to_word(first)) return text.run(first.next, belongs_to_word);
  if (is_number(first)) {
    size_t end = first.next;
    for (int n = 1; n < digits_max && is_number(text.at(end)); ++n) end = text.at(end).next;
    return end;
  }
  if (!first.is_newline() && belongs_to_word(text.at(first.next))) {
    return text.run(first.next, belongs_to_word);
  }
  const Char core = first.is_space() ? text.at(first.next) : first;
  if (belongs_to_punctuation(core)) {
    return text.run(text.run(core.next, belongs_to_punctuation),
                    [](const Char& c) { return c.is_newline(); });
  }
  // White space: \s*[\r\n]+ takes it up to its last line break.
  size_t after_newline = 0;
  size_t end = at;
  for (Char c = text.at(at); is_white(c); c = text.at(end)) {
    end = c.next;
    if (c.is_newline()) after_newline = end;
  }
  return after_newline != 0 ? after_newline : white_end(text, at);
}

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) noexcept {
  for (const PreTokenizer& row : kPreTokenizers) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

size_t piece_end(Splitter splitter, std::string_view text, size_t at) noexcept {
  switch (splitter) {
    case Splitter::gpt2: return gpt2_end(Text(text), at);
    case Splitter::smollm: return smollm_end(text, at);
    case Splitter::qwen2: return modern_end(Text(text), at, 1, false);
    case Splitter::qwen35: return modern_end(Text(text), at, 1, true);
    case Splitter::llama_bpe: return modern_end(Text(text), at, 3, false);
  }
  return text.size();
}

}  // namespace assay::engine::tokenizer
