#include "bench/engine/answers.h"

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace assay::bench {
namespace {

Result<std::vector<int32_t>> read_ids(const json::Value& object, std::string_view key,
                                      std::string_view path) {
  TRY(value, object.at(key, path));
  TRY(wide, value->as_int64s(json::path_of(path, key)));
  return std::vector<int32_t>(wide.begin(), wide.end());
}

Result<GreedyCase> read_case(const json::Value& value, const std::string& path) {
  GreedyCase result;
  TRY_DO(value.expect(json::Kind::object, path));
  TRY(name, value.at("name", path));
  TRY(name_text, name->as_string(json::path_of(path, "name")));
  result.name = name_text;
  TRY(prompt, read_ids(value, "prompt_ids", path));
  result.prompt_ids = prompt;
  TRY(tokens, read_ids(value, "tokens", path));
  result.tokens = tokens;
  TRY(top5, value.at("top5", path));
  TRY_DO(top5->expect(json::Kind::array, json::path_of(path, "top5")));
  for (const json::Value& position : top5->items()) {
    std::vector<std::pair<int32_t, double>> best;
    for (const json::Value& pair : position.items()) {
      TRY(id, pair.items()[0].as_int64(path));
      TRY(logit, pair.items()[1].as_double(path));
      best.emplace_back(static_cast<int32_t>(id), logit);
    }
    result.top5.push_back(std::move(best));
  }
  return result;
}

enum class Outcome { exact, near_tie, wrong };

// `position` is set to the first difference.
Result<Outcome> run_case(Contender& contender, const GreedyCase& greedy, size_t& position) {
  TRY_DO(contender.reset());
  TRY_DO(contender.feed(greedy.prompt_ids));
  for (position = 0; position < greedy.tokens.size(); ++position) {
    const int32_t token = argmax(contender.logits());
    if (token != greedy.tokens[position]) {
      const auto& best = greedy.top5[position];
      for (const auto& [id, logit] : best) {
        if (id == token && best.front().second - logit <= kNearTie) return Outcome::near_tie;
      }
      return Outcome::wrong;
    }
    TRY_DO(contender.feed(std::span(&token, 1)));
  }
  return Outcome::exact;
}

}  // namespace

Result<std::vector<GreedyCase>> read_greedy_cases(const std::filesystem::path& path) {
  TRY(bytes, read_file(path));
  TRY(document, json::parse(bytes));
  TRY_DO(document.expect(json::Kind::object, ""));
  TRY(results, document.at("results", ""));
  TRY_DO(results->expect(json::Kind::array, "results"));
  std::vector<GreedyCase> cases;
  for (size_t i = 0; i < results->items().size(); ++i) {
    TRY(one, read_case(results->items()[i], json::path_of("results", i)));
    cases.push_back(std::move(one));
  }
  return cases;
}

Result<GreedyReport> check_greedy(Contender& contender, const std::vector<GreedyCase>& cases) {
  GreedyReport report;
  for (const GreedyCase& greedy : cases) {
    size_t position = 0;
    TRY(outcome, run_case(contender, greedy, position));
    ++report.cases;
    if (outcome == Outcome::exact) ++report.exact;
    if (outcome == Outcome::near_tie) ++report.near_ties;
    if (outcome == Outcome::wrong && report.wrong.empty()) {
      report.wrong = cat("case ", greedy.name, ", position ", position);
    }
  }
  return report;
}

int32_t argmax(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace assay::bench
