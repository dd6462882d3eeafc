#include "engine/gguf/name_index.h"

#include <sys/auxv.h>

#include <cstring>

namespace assay::engine::gguf {
namespace {

// 16 random bytes that Linux gives every process.
uint64_t process_seed() {
  uint64_t seed = 0x9e3779b97f4a7c15u;
  if (const unsigned long address = getauxval(AT_RANDOM); address != 0) {
    std::memcpy(&seed, reinterpret_cast<const void*>(address), sizeof seed);
  }
  return seed | 1;
}
const uint64_t kSeed = process_seed();

uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class T>
uint64_t load(const char* at) {
  T word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The last 0 to 8 bytes as one word: two overlapping loads where they fit.
uint64_t load_rest(const char* at, size_t size) {
  if (size >= 4) return load<uint32_t>(at) << 32 | load<uint32_t>(at + size - 4);
  if (size >= 2) return load<uint16_t>(at) << 16 | load<uint16_t>(at + size - 2);
  return size == 1 ? load<uint8_t>(at) : 0;
}

}  // namespace

uint64_t hash_name(std::string_view name) noexcept {
  constexpr uint64_t kOdd = 0xa0761d6478bd642fu;
  uint64_t hash = kSeed ^ (name.size() * kOdd);
  const char* at = name.data();
  size_t left = name.size();
  for (; left > 8; at += 8, left -= 8) {
    hash = fold(load<uint64_t>(at) ^ kOdd ^ hash, kSeed ^ 0xe7037ed1a0b428dbu);
  }
  return fold(load_rest(at, left) ^ hash, kOdd) ^ fold(hash ^ kSeed, 0x8ebc6af09c88c6e3u);
}

uint64_t hash_number(uint64_t number) noexcept {
  return fold(number ^ kSeed, 0x9e3779b97f4a7c15u);
}

}  // namespace assay::engine::gguf
