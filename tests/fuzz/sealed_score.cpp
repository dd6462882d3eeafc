// Any bytes as a score with its integrity file, sealed by someone who can compute digests: the
// verifier answers, and what it takes for well-formed is written again as the same bytes.
#include <cstdint>
#include <string_view>

#include "base/ensure.h"
#include "base/json.h"
#include "base/sha256.h"
#include "scoring/verify.h"

using namespace assay;
using namespace assay::scoring;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SealedFiles files;
  files.score = {"score.json", std::string(bytes)};
  files.score_sidecar = sidecar_line(sha256_hex(bytes), "score.json");
  files.integrity = {"benchmark-integrity.json", std::string(bytes)};
  files.integrity_sidecar = sidecar_line(sha256_hex(bytes), "benchmark-integrity.json");
  // No text is both a score and an integrity file.
  ENSURE(!verify_seal(files).empty());
  if (const auto document = json::parse(bytes)) {
    if (const auto score = read_score_document(*document)) {
      const std::string text = score_bytes(*score);
      const auto again = read_score_document(*json::parse(text));
      ENSURE(again && score_bytes(*again) == text);
    }
  }
  if (const auto integrity = read_integrity(bytes)) {
    ENSURE(read_integrity(write_integrity(*integrity)));
  }
  return 0;
}
