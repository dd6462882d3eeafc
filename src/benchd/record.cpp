#include "benchd/record.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "benchd/refusals.h"
#include "protocol/verb.h"
#include "runner/leg.h"
#include "runner/session.h"

namespace assay::benchd {

namespace {

Refusal bad_prompt(std::string detail) {
  return Refusal(kRecordPromptInvalid, std::move(detail));
}

Result<scoring::Tokens> read_ids(std::string_view bytes) {
  if (trim(bytes).starts_with('[')) {
    auto value = json::parse(bytes);
    if (!value) return bad_prompt(value.refusal().text());
    auto ids = value->as_int64s("tokens");
    if (!ids) return bad_prompt(ids.refusal().detail);
    return *std::move(ids);
  }
  scoring::Tokens ids;
  size_t start = 0;
  const auto is_gap = [](char c) { return c == ',' || c == ' ' || (c >= '\t' && c <= '\r'); };
  for (size_t i = 0; i <= bytes.size(); ++i) {
    if (i < bytes.size() && !is_gap(bytes[i])) continue;
    const std::string_view word = bytes.substr(start, i - start);
    start = i + 1;
    if (word.empty()) continue;
    const auto id = parse_int64(word);
    if (!id) return bad_prompt(cat("word ", ids.size() + 1, " is not a number"));
    ids.push_back(*id);
  }
  return ids;
}

// The engine's own greedy continuation, asked for step by step on the checked path.
Result<scoring::Tokens> teacher_forced(runner::World& world, const RecordPlan& plan,
                                       const RecordPrompt& prompt) {
  runner::WorkerCommand command = plan.command;
  command.speculative_protocol = false;
  TRY(worker, runner::open_worker(world, command));
  runner::Session& session = worker.session;
  session.begin_phase();
  scoring::Tokens tokens;
  TRY(first, session.correctness_begin(prompt.tokens));
  tokens.push_back(first.token);
  while (tokens.size() < plan.steps) {
    TRY(next, session.correctness_step(tokens.back()));
    tokens.push_back(next.token);
  }
  TRY_DO(session.close_phase());
  return tokens;
}

// The same continuation by the timed verbs.
Result<scoring::Benchmark> free_run(runner::World& world, const RecordPlan& plan,
                                    const RecordPrompt& prompt) {
  TRY(worker, runner::open_worker(world, plan.command));
  runner::Session& session = worker.session;
  TRY_DO(session.require_capability(protocol::kFreeRunDecode));
  scoring::Benchmark benchmark;
  benchmark.prefill_prompt_tokens = prompt.tokens;
  benchmark.decode_seed_tokens = prompt.tokens;
  session.begin_phase();
  TRY(prefill_token, session.prefill(prompt.tokens));
  benchmark.expected_prefill_token = prefill_token;
  TRY_DO(session.close_phase());
  session.begin_phase();
  TRY(seed_token, session.free_decode_begin(prompt.tokens, std::nullopt));
  benchmark.expected_decode_seed_token = seed_token;
  TRY(response, session.free_decode_run(*plan.benchmark_steps));
  TRY(account, session.account_of(std::move(response)));
  TRY_DO(session.close_free_run(account, *plan.benchmark_steps));
  benchmark.expected_decode_tokens = account.tokens;
  return benchmark;
}

Status check_agreement(const scoring::Benchmark& benchmark, const scoring::BaseCase& base) {
  const auto refuse = [&base](std::string_view what) {
    return Refusal(kRecordDisagreement, cat("case `", base.name, "`: ", what));
  };
  if (benchmark.expected_prefill_token != benchmark.expected_decode_seed_token) {
    return refuse("prefill and free_decode_begin chose different tokens");
  }
  if (benchmark.expected_decode_seed_token != base.expected_tokens.front()) {
    return refuse("free_decode_begin and correctness_begin chose different tokens");
  }
  const size_t shared =
      std::min(benchmark.expected_decode_tokens.size(), base.expected_tokens.size() - 1);
  for (size_t i = 0; i < shared; ++i) {
    if (benchmark.expected_decode_tokens[i] != base.expected_tokens[i + 1]) {
      return refuse(cat("the free run leaves the teacher-forced steps at step ", i));
    }
  }
  return {};
}

}  // namespace

Result<scoring::Tokens> parse_prompt_tokens(std::string_view bytes, uint32_t count,
                                            uint32_t vocab_size) {
  TRY(ids, read_ids(bytes));
  if (ids.size() != count) {
    return bad_prompt(cat(ids.size(), " ids, the contract's seed_tokens is ", count));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      return bad_prompt(cat("id ", i + 1, " is not in 0..", vocab_size - 1));
    }
  }
  return ids;
}

Result<scoring::Golden> record_golden(runner::World& world, const Track& track,
                                      const RecordPlan& plan, Console& console) {
  scoring::Golden golden;
  golden.model_type = track.model.golden_model_type;
  golden.model_provenance = plan.provenance;
  for (const RecordPrompt& prompt : plan.prompts) {
    console.live(cat("case ", prompt.case_name));
    auto tokens = teacher_forced(world, plan, prompt);
    if (!tokens) return at(cat("case `", prompt.case_name, "`"), std::move(tokens).refusal());
    golden.cases.push_back({prompt.case_name, prompt.tokens, *std::move(tokens)});
    console.line(cat("case ", prompt.case_name, ": ", plan.steps, " tokens"));
  }
  if (!plan.benchmark_steps) return golden;
  console.live("timed block");
  TRY(benchmark, free_run(world, plan, plan.prompts.front()));
  TRY_DO(check_agreement(benchmark, golden.cases.front()));
  golden.benchmark = std::move(benchmark);
  console.line(cat("timed block: ", *plan.benchmark_steps, " tokens"));
  return golden;
}

}  // namespace assay::benchd
