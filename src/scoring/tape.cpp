#include "scoring/tape.h"

#include "base/text.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

const Value* optional_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<TapeRow> read_row(const Value& object, std::string_view path) {
  TRY_DO(object.expect(Kind::object, path));
  TRY_DO(
      object.expect_only({"sequential_argmax", "top2_tokens", "top2_logits", "top1_logit"}, path));
  TapeRow row;
  TRY(argmax_value, object.at("sequential_argmax", path));
  TRY(argmax, argmax_value->as_int64(path_of(path, "sequential_argmax")));
  row.sequential_argmax = argmax;
  if (const Value* tokens = optional_at(object, "top2_tokens")) {
    TRY(read, tokens->as_int64s(path_of(path, "top2_tokens")));
    row.top2_tokens = std::move(read);
  }
  if (const Value* logits = optional_at(object, "top2_logits")) {
    const std::string logits_path = path_of(path, "top2_logits");
    TRY_DO(logits->expect(Kind::array, logits_path));
    row.top2_logits.emplace();
    for (size_t i = 0; i < logits->items().size(); ++i) {
      TRY(logit, logits->items()[i].as_double(path_of(logits_path, i)));
      row.top2_logits->push_back(logit);
    }
  }
  if (const Value* logit = optional_at(object, "top1_logit")) {
    TRY(read, logit->as_double(path_of(path, "top1_logit")));
    row.top1_logit = read;
  }
  return row;
}

Status check_token(int64_t token, uint32_t vocab_size, std::string_view path) {
  if (token >= 0 && token < static_cast<int64_t>(vocab_size)) return {};
  return Refusal(kTapeTokenOutOfRange,
                 cat("`", path, "` lies outside the vocabulary of ", vocab_size, " tokens"));
}

Status check_ids(const TimedPromptTape& tape, uint32_t vocab_size) {
  for (size_t i = 0; i < tape.seed_tokens.size(); ++i) {
    TRY_DO(check_token(tape.seed_tokens[i], vocab_size, path_of("seed_tokens", i)));
  }
  TRY_DO(check_token(tape.reference_seed_token, vocab_size, "reference_seed_token"));
  for (size_t i = 0; i < tape.rows.size(); ++i) {
    const std::string path = path_of("rows", i);
    TRY_DO(check_token(tape.rows[i].sequential_argmax, vocab_size,
                       path_of(path, "sequential_argmax")));
    if (!tape.rows[i].top2_tokens) continue;
    for (const int64_t token : *tape.rows[i].top2_tokens) {
      TRY_DO(check_token(token, vocab_size, path_of(path, "top2_tokens")));
    }
  }
  return {};
}

// The first differing element is reported before a difference in length.
Status check_emitted(const TimedPromptTape& tape, const Tokens& emitted, uint32_t vocab_size) {
  for (size_t i = 0; i < emitted.size(); ++i) {
    TRY_DO(check_token(emitted[i], vocab_size, path_of("emitted_tokens", i)));
  }
  for (size_t i = 0; i < emitted.size() && i < tape.rows.size(); ++i) {
    if (emitted[i] != tape.rows[i].sequential_argmax) {
      return Refusal(kTapeEmittedMismatch,
                     cat("`emitted_tokens[", i, "]` is not `rows[", i, "].sequential_argmax`"));
    }
  }
  if (emitted.size() != tape.rows.size()) {
    return Refusal(kTapeEmittedMismatch, cat("`emitted_tokens` has ", emitted.size(),
                                             " entries, `rows` has ", tape.rows.size()));
  }
  return {};
}

}  // namespace

Result<OracleKind> oracle_kind(const Value& document) {
  if (document.is_object()) {
    if (document.find("seed_tokens") != nullptr &&
        document.find("reference_seed_token") != nullptr && document.find("rows") != nullptr) {
      return OracleKind::tape;
    }
    if (document.find("cases") != nullptr) return OracleKind::golden;
  }
  return Refusal(
      kOracleUnrecognised,
      "found neither `seed_tokens`, `reference_seed_token` and `rows` (a tape) nor `cases` "
      "(a golden)");
}

Result<TimedPromptTape> parse_tape(std::string_view bytes, uint32_t vocab_size) {
  TRY(document, json::parse(bytes));
  TRY_DO(document.expect(Kind::object, "tape"));
  TRY_DO(document.expect_only({"seed_tokens", "reference_seed_token", "rows",
                               "reference_self_consistent", "emitted_tokens"},
                              ""));
  TimedPromptTape tape;
  TRY(seeds_value, document.at("seed_tokens", ""));
  TRY(seeds, seeds_value->as_int64s("seed_tokens"));
  tape.seed_tokens = std::move(seeds);
  TRY(seed_value, document.at("reference_seed_token", ""));
  TRY(seed, seed_value->as_int64("reference_seed_token"));
  tape.reference_seed_token = seed;
  TRY(rows, document.at("rows", ""));
  TRY_DO(rows->expect(Kind::array, "rows"));
  for (size_t i = 0; i < rows->items().size(); ++i) {
    TRY(row, read_row(rows->items()[i], path_of("rows", i)));
    tape.rows.push_back(std::move(row));
  }
  std::optional<bool> self_consistent;
  if (const Value* value = optional_at(document, "reference_self_consistent")) {
    TRY(read, value->as_bool("reference_self_consistent"));
    self_consistent = read;
  }
  std::optional<Tokens> emitted;
  if (const Value* value = optional_at(document, "emitted_tokens")) {
    TRY(read, value->as_int64s("emitted_tokens"));
    emitted = std::move(read);
  }
  if (tape.seed_tokens.empty()) return Refusal(kTapeEmpty, "`seed_tokens` is an empty list");
  if (tape.rows.empty()) return Refusal(kTapeEmpty, "`rows` is an empty list");
  if (self_consistent == false) {
    return Refusal(kTapeNotSelfConsistent, "`reference_self_consistent` is false");
  }
  TRY_DO(check_ids(tape, vocab_size));
  if (emitted) TRY_DO(check_emitted(tape, *emitted, vocab_size));
  return tape;
}

TimedOracle timed_oracle(const TimedPromptTape& tape) {
  TimedOracle out;
  out.prefill_prompt_tokens = tape.seed_tokens;
  out.expected_prefill_token = tape.reference_seed_token;
  out.decode_seed_tokens = tape.seed_tokens;
  out.expected_decode_seed_token = tape.reference_seed_token;
  for (const TapeRow& row : tape.rows) out.expected_decode_tokens.push_back(row.sequential_argmax);
  return out;
}

}  // namespace assay::scoring
