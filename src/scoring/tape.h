// Tape: the older document of one timed prompt, a chain of the reference's choices.
//
// In / Out  bytes → TimedPromptTape, closed schema; routing between a tape and a golden by keys
// alone Errors    JSON-* (base), TAPE-NOT-SELF-CONSISTENT, TAPE-TOKEN-OUT-OF-RANGE, TAPE-EMPTY,
//           TAPE-EMITTED-MISMATCH, ORACLE-UNRECOGNISED
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "scoring/golden.h"

namespace assay::scoring {

struct TapeRow {
  int64_t sequential_argmax = 0;  // emitted token i+1; token 0 is the reference seed token
  std::optional<Tokens> top2_tokens;
  std::optional<std::vector<double>> top2_logits;
  std::optional<double> top1_logit;
};
struct TimedPromptTape {
  Tokens seed_tokens;
  int64_t reference_seed_token = 0;
  std::vector<TapeRow> rows;
};

enum class OracleKind { tape, golden };
/// seed_tokens, reference_seed_token and rows all there → tape; else cases → golden; else
/// ORACLE-UNRECOGNISED.
[[nodiscard]] Result<OracleKind> oracle_kind(const json::Value& document);

[[nodiscard]] Result<TimedPromptTape> parse_tape(std::string_view bytes, uint32_t vocab_size);
/// The timed leg that a tape describes, all its rows as decode tokens; prefill runs the same
/// prompt.
[[nodiscard]] TimedOracle timed_oracle(const TimedPromptTape& tape);

}  // namespace assay::scoring
