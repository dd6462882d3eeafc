// Refusal: the world is not as required. A named, explained "no" that a person can act on.
//
// Each library lists its refusals once, in its own refusals.h, as RefusalInfo constants; the
// catalogue (docs/refusals.md, `benchd explain`) is made from those constants. A code is part of
// the product: tests and users match it, so it is never reused or renamed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// One row of the catalogue. All three texts are plain sentences without line breaks.
struct RefusalInfo {
  std::string_view code;     // "GGUF-BAD-MAGIC": AREA-WHAT-WRONG
  std::string_view meaning;  // what was found wrong
  std::string_view remedy;   // what the reader should do
};

/// A refusal that happened: the code, and one sentence with what was found, what was expected,
/// where.
struct [[nodiscard]] Refusal {
  std::string_view code;  // points at static storage (a RefusalInfo)
  std::string detail;

  Refusal(const RefusalInfo& info, std::string what) : code(info.code), detail(std::move(what)) {}

  /// "CODE: detail", the form every program prints.
  [[nodiscard]] std::string text() const { return std::string(code) + ": " + detail; }
};

/// The same refusal with a place put in front of its detail: "contract.json: key `x` …".
[[nodiscard]] inline Refusal at(std::string_view place, Refusal refusal) {
  refusal.detail = std::string(place) + ": " + refusal.detail;
  return refusal;
}

}  // namespace assay
