// SHA-256 (OpenSSL), in one call or as a stream.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace assay {

using Sha256Digest = std::array<unsigned char, 32>;

/// Streaming digest. Not thread-safe; one digest at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::string_view bytes);
  /// Ends the digest; the object may not be used again.
  [[nodiscard]] Sha256Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] Sha256Digest sha256(std::string_view bytes);
/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Sha256Digest& digest);

}  // namespace assay
