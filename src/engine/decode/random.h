// Random: seeded 64-bit random numbers, the same everywhere.
//
// xoshiro256** 1.0, state filled by SplitMix64 from the seed.
// Source: David Blackman and Sebastiano Vigna, https://prng.di.unimi.it/ (public domain).
#pragma once

#include <bit>
#include <cstdint>

namespace assay::engine::decode {

class Random {
 public:
  explicit constexpr Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      word = z ^ (z >> 31);
    }
  }

  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_[4] = {};
};

}  // namespace assay::engine::decode
