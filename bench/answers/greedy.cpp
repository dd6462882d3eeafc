#include "bench/answers/greedy.h"

#include "base/files.h"
#include "base/json.h"
#include "base/refusals.h"
#include "base/text.h"

namespace assay::bench {
namespace {

using Best = std::vector<std::pair<int32_t, double>>;

Result<std::vector<int32_t>> read_ids(const json::Value& object, std::string_view key,
                                      const std::string& path) {
  TRY(value, object.at(key, path));
  TRY(wide, value->as_int64s(json::path_of(path, key)));
  return std::vector<int32_t>(wide.begin(), wide.end());
}

Result<std::string> read_text(const json::Value& object, std::string_view key,
                              const std::string& path) {
  TRY(value, object.at(key, path));
  return value->as_string(json::path_of(path, key));
}

// [[id, logit], …]
Result<Best> read_best(const json::Value& value, const std::string& path) {
  TRY_DO(value.expect(json::Kind::array, path));
  Best best;
  for (const json::Value& pair : value.items()) {
    if (pair.kind() != json::Kind::array || pair.items().size() != 2) {
      return Refusal(kJsonType, cat(path, " must hold pairs of token and logit"));
    }
    TRY(id, pair.items()[0].as_int64(path));
    TRY(logit, pair.items()[1].as_double(path));
    best.emplace_back(static_cast<int32_t>(id), logit);
  }
  if (best.empty()) return Refusal(kJsonType, cat(path, " is empty"));
  return best;
}

Result<GreedyCase> read_case(const json::Value& value, const std::string& path) {
  TRY_DO(value.expect(json::Kind::object, path));
  GreedyCase result;
  TRY(name, read_text(value, "name", path));
  TRY(prompt, read_text(value, "prompt", path));
  TRY(prompt_ids, read_ids(value, "prompt_ids", path));
  TRY(tokens, read_ids(value, "tokens", path));
  TRY(top5, value.at("top5", path));
  const std::string top5_path = json::path_of(path, "top5");
  TRY_DO(top5->expect(json::Kind::array, top5_path));
  for (size_t i = 0; i < top5->items().size(); ++i) {
    TRY(best, read_best(top5->items()[i], json::path_of(top5_path, i)));
    result.top5.push_back(std::move(best));
  }
  if (result.top5.size() != tokens.size()) {
    return Refusal(kJsonType, cat(top5_path, " must have one entry for each token"));
  }
  result.name = std::move(name);
  result.prompt = std::move(prompt);
  result.prompt_ids = std::move(prompt_ids);
  result.tokens = std::move(tokens);
  return result;
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

Judgement judge(const GreedyCase& reference, std::span<const int32_t> tokens) {
  for (size_t i = 0; i < reference.tokens.size(); ++i) {
    if (i >= tokens.size()) return {Verdict::wrong, i, 0};
    if (tokens[i] == reference.tokens[i]) continue;
    const Best& best = reference.top5[i];
    for (const auto& [id, logit] : best) {
      if (id != tokens[i]) continue;
      const double gap = best.front().second - logit;
      return {gap <= kNearTie ? Verdict::near_tie : Verdict::wrong, i, gap};
    }
    return {Verdict::wrong, i, 0};
  }
  return {Verdict::exact, reference.tokens.size(), 0};
}

}  // namespace assay::bench
