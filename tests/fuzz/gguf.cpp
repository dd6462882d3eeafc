// Any bytes as a GGUF file: refused by name, or every key, tensor and token can be walked.
#include <cstdint>
#include <span>
#include <string>

#include "base/ensure.h"
#include "engine/gguf/file.h"
#include "engine/tokenizer/tokenizer.h"

using namespace assay::engine;

namespace {

// Reads the first and the last byte of what a view claims, so that a sanitizer sees a wrong one.
uint64_t touch(std::span<const std::byte> bytes) {
  return bytes.empty()
             ? 0
             : std::to_integer<uint64_t>(bytes.front()) + std::to_integer<uint64_t>(bytes.back());
}

uint64_t walk(const gguf::File& file) {
  uint64_t sum = 0;
  const gguf::Metadata& metadata = file.metadata();
  for (const gguf::Entry& entry : metadata.entries()) {
    ENSURE(metadata.find(entry.key) == &entry);
    sum += touch(entry.bytes);
    if (const auto value = metadata.get_uint(entry.key, 1, 1000)) ENSURE(*value <= 1000);
    static_cast<void>(metadata.get_real(entry.key));
    static_cast<void>(metadata.get_bool(entry.key));
    static_cast<void>(metadata.get_ints(entry.key));
    static_cast<void>(metadata.get_reals(entry.key));
    if (const auto strings = metadata.get_strings(entry.key)) {
      for (const std::string_view text : *strings) sum += text.size();
    }
  }
  for (const gguf::Tensor& tensor : file.tensors()) {
    ENSURE(file.find(tensor.name) == &tensor);
    ENSURE(tensor.element_count() > 0);
    if (tensor.type != nullptr) {
      ENSURE(tensor.data.size() == tensor.row_bytes() * tensor.row_count());
    }
    sum += touch(tensor.data);
    static_cast<void>(file.require(tensor.name));
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = gguf::open_bytes("fuzz.gguf", std::as_bytes(std::span(data, size)));
  if (!file) {
    ENSURE(!file.refusal().detail.empty());
    return 0;
  }
  static_cast<void>(walk(*file));
  const auto tokenizer = tokenizer::Tokenizer::open(*file, {.pre_override = "qwen2"});
  if (!tokenizer) return 0;
  const auto ids = tokenizer->encode("a \xC3\xA9 1\n<s>");
  if (!ids) return 0;
  for (const auto id : *ids) ENSURE(id < tokenizer->vocab_size());
  ENSURE(static_cast<bool>(tokenizer->decode(*ids)));
  return 0;
}
