// The ten verbs of the wire, and the words that a hello advertises.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::protocol {

/// `hello` is the one unsolicited line, not a verb: it stands here so that the field table can name
/// every message.
enum class Verb : uint8_t {
  prefill,
  decode_begin,
  decode_step,
  correctness,
  correctness_begin,
  correctness_step,
  phase_diagnostics,
  free_decode_begin,
  free_decode_run,
  cohort_reference_replay,
  hello,
};

inline constexpr std::array<std::string_view, 10> kVerbNames = {
    "prefill",           "decode_begin",           "decode_step",       "correctness",
    "correctness_begin", "correctness_step",       "phase_diagnostics", "free_decode_begin",
    "free_decode_run",   "cohort_reference_replay"};

/// The wire's word. Needs a verb other than hello.
[[nodiscard]] constexpr std::string_view verb_name(Verb verb) {
  return kVerbNames[static_cast<size_t>(verb)];
}
/// The verb of a request's `kind`; case-sensitive.
[[nodiscard]] constexpr std::optional<Verb> find_verb(std::string_view kind) {
  for (size_t i = 0; i < kVerbNames.size(); ++i) {
    if (kVerbNames[i] == kind) return static_cast<Verb>(i);
  }
  return std::nullopt;
}

/// The four verbs that the judge counts in its own `issued_steps`.
[[nodiscard]] constexpr bool is_timed_step(Verb verb) {
  return verb == Verb::decode_begin || verb == Verb::decode_step ||
         verb == Verb::correctness_begin || verb == Verb::correctness_step;
}

inline constexpr uint32_t kProtocolVersion = 1;     // additive versions never change it
inline constexpr size_t kTopLogitCount = 8;         // exactly, in every correctness answer
inline constexpr uint32_t kFreeRunCountMax = 1536;  // an engine's default bound of `count`
inline constexpr int64_t kUnparsedId = -1;    // the answer's id when the line was not a request
inline constexpr size_t kNonceSizeMax = 256;  // bytes of printable ASCII a judge accepts
inline constexpr int kDepthMax = 16;          // objects and arrays inside one another

// Capabilities.
inline constexpr std::string_view kFreeRunDecode = "free_run_decode";
inline constexpr std::string_view kBatchedFreeRunDecode = "batched_free_run_decode";
inline constexpr std::string_view kPerStreamTiming = "per_stream_timing";
inline constexpr std::string_view kCohortReferenceReplay = "cohort_reference_replay";

// Spec modes.
inline constexpr std::string_view kSerial = "serial";
inline constexpr std::string_view kMtp = "mtp";
inline constexpr std::string_view kDflash = "dflash";
inline constexpr std::string_view kDspark = "dspark";

// Series tags: two timed numbers may be compared only when their tags are equal.
inline constexpr std::string_view kTeacherForcedSeries = "teacher_forced_v1";
inline constexpr std::string_view kFreeRunSeries = "free_run_v1_1";
/// "batched_free_run_v1_2_b8" for width 8.
[[nodiscard]] std::string batched_series(uint32_t width);

}  // namespace assay::protocol
