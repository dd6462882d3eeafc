// Any bytes as a text: every tokenizer takes it, the ids spell it again, and streaming gives whole
// code points.
//
// The first byte of the input chooses the tokenizer and whether special tokens are parsed.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/tokenizer/streaming_text.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/vocabulary_files.h"

using namespace assay;
using namespace assay::engine;

namespace {

struct Opened {
  gguf::File file;
  tokenizer::Tokenizer tokenizer;
};

Opened open(const tokenizer::VocabularyFile& vocabulary) {
  gguf::File file = vocabulary.file();
  auto tokenizer = tokenizer::Tokenizer::open(file);
  ENSURE(static_cast<bool>(tokenizer));
  return {std::move(file), std::move(*tokenizer)};
}

const std::vector<Opened>& tokenizers() {
  static const std::vector<Opened> all = [] {
    std::vector<Opened> opened;
    for (const char* pre : {"gpt-2", "smollm", "qwen2", "qwen35", "llama-bpe"}) {
      tokenizer::VocabularyFile vocabulary = tokenizer::small_bpe();
      vocabulary.pre = pre;
      vocabulary.switches = {{"add_bos_token", false}};
      opened.push_back(open(vocabulary));
    }
    opened.push_back(open(tokenizer::small_spm()));
    return opened;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t choice = data[0] % tokenizers().size();
  const bool parse_special = data[0] >= 128;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const tokenizer::Tokenizer& tokenizer = tokenizers()[choice].tokenizer;
  const bool is_spm = tokenizer.splitter() == "spm";

  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
  ENSURE(static_cast<bool>(ids));
  const auto bytes = tokenizer.decode(*ids);
  ENSURE(static_cast<bool>(bytes));
  // SentencePiece spells a space and U+2581 alike, and puts a space after each special token.
  if (!is_spm) {
    ENSURE(*bytes == tokenizer::replace_broken_bytes(text));
  } else if (text.find("\xE2\x96\x81") == std::string_view::npos && !parse_special) {
    ENSURE(*bytes == text);
  }

  tokenizer::StreamingText stream(tokenizer, true);
  std::string shown;
  for (const auto id : *ids) {
    const std::string part = stream.push(id);
    ENSURE(is_utf8(part));
    shown += part;
  }
  shown += stream.finish();
  ENSURE(shown == tokenizer::to_utf8_lossy(stream.bytes()));
  return 0;
}
