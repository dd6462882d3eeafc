// The semantic rules of an envelope.
#include "publish/validate.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace assay::publish {

namespace {

constexpr int64_t kDaySeconds = 86400;

std::optional<int64_t> integer(const json::Value* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return std::nullopt;
  const json::Value* value = object->find(key);
  if (value == nullptr || !value->is_integer()) return std::nullopt;
  return parse_int64(value->literal());
}

bool has(const json::Value* object, std::string_view key) {
  return object != nullptr && object->is_object() && object->find(key) != nullptr;
}

bool is_true(const json::Value* object, std::string_view key) {
  if (!has(object, key)) return false;
  const json::Value* value = object->find(key);
  return value->kind() == json::Kind::boolean && value->boolean();
}

bool is_rate(const ResultRow& row) {
  return row.unit == "tok/s" || row.unit == "req/s" || row.prompt_tokens_per_second ||
         row.decode_tokens_per_second || row.total_tokens_per_second;
}

class Checker {
 public:
  Checker(const Envelope& envelope, const ValidateOptions& options)
      : envelope_(envelope), options_(options), status_(envelope.text("cell_status")) {}

  std::vector<Problem> run() {
    check_time();
    check_trigger();
    check_status();
    check_context();
    check_regime();
    check_cache();
    check_duplicates();
    return std::move(problems_);
  }

 private:
  void add(std::string code, std::string path, std::string message) {
    problems_.push_back({std::move(code), std::move(path), std::move(message)});
  }
  [[nodiscard]] bool success() const { return status_.empty() || status_ == "success"; }

  void check_time() {
    const auto time = parse_utc(envelope_.text("timestamp"));
    if (!time) {
      add("E-TIME", "$.timestamp",
          cat("\"", envelope_.text("timestamp"), "\" is no UTC time YYYY-MM-DDTHH:MM:SS[.f]Z"));
    } else if (options_.now_seconds != 0 && *time > options_.now_seconds + kDaySeconds) {
      add("E-TIME", "$.timestamp", "lies more than 24 hours in the future");
    }
  }

  void check_trigger() {
    if (envelope_.text("trigger") == "pr" && !integer(&envelope_.head, "pr_number")) {
      add("E-PR", "$.pr_number", "trigger pr needs the number of the pull request");
    }
  }

  void check_status() {
    if (envelope_.results.empty()) {
      const bool excused =
          (!status_.empty() && status_ != "success") || is_true(&envelope_.head, "skipped");
      if (!excused) {
        add("E-EMPTY", "$.results",
            "no results, and neither a cell_status that explains it nor skipped");
      }
    }
    if (!success()) {
      for (size_t i = 0; i < envelope_.results.size(); ++i) {
        if (is_rate(envelope_.results[i])) {
          add("E-STATUS-RATE", cat("$.results[", i, "]"),
              cat("a rate beside cell_status ", status_, ": a status is not a measured zero"));
        }
      }
    }
    if (status_ == "success") {
      const bool positive =
          std::any_of(envelope_.results.begin(), envelope_.results.end(),
                      [](const ResultRow& row) { return is_rate(row) && row.value > 0; });
      if (envelope_.results.empty()) {
        add("E-STATUS-OK", "$.results", "cell_status success without a result");
      } else if (envelope_.text("suite") == "throughput" && !positive) {
        add("E-STATUS-OK", "$.results",
            "cell_status success in suite throughput without a positive rate");
      }
    }
  }

  void check_context() {
    const json::Value* context = envelope_.find("context");
    const auto window = integer(context, "configured_window_tokens");
    const auto reserved = integer(context, "output_reservation_tokens");
    const auto actual = integer(context, "actual_prompt_tokens");
    const auto requested = integer(context, "requested_prompt_tokens");
    if (window && reserved) {
      if (actual && success() && *actual > *window - *reserved) {
        add("E-ADMIT", "$.context",
            cat("prompt ", *actual, " + reservation ", *reserved, " exceeds the window ", *window,
                ": such a run is no success"));
      }
      if (!actual && requested && *requested > *window - *reserved && status_ != "not_applicable") {
        add("E-ADMIT", "$.context",
            cat("requested ", *requested, " + reservation ", *reserved, " exceeds the window ",
                *window, ": the cell is not_applicable"));
      }
    }
    const auto completion = integer(context, "actual_completion_tokens");
    const auto total = integer(context, "actual_total_tokens");
    if (actual && completion && total && *total - *actual != *completion) {
      add("E-TOTAL", "$.context.actual_total_tokens",
          cat(*total, " is not ", *actual, " + ", *completion));
    }
  }

  void check_regime() {
    const std::string suite = envelope_.text("suite");
    if ((suite != "throughput" && suite != "ttft") || !success()) return;
    const bool cumulative =
        std::any_of(envelope_.results.begin(), envelope_.results.end(),
                    [](const ResultRow& row) { return is_cumulative(row.metric); });
    if (!cumulative) return;
    const json::Value* regime = envelope_.find("regime");
    const json::Value* cache = envelope_.find("cache");
    std::vector<std::string> missing;
    if (!has(regime, "prompt_tokens_median") &&
        !(has(regime, "prompt_tokens_min") && has(regime, "prompt_tokens_max"))) {
      missing.emplace_back("regime.prompt_tokens_*");
    }
    for (const char* key : {"max_tokens", "concurrency", "rate_basis"}) {
      if (!has(regime, key)) missing.push_back(cat("regime.", key));
    }
    if (!has(cache, "prefix_policy")) missing.emplace_back("cache.prefix_policy");
    if (!missing.empty()) {
      add(options_.legacy_regime ? "W-REGIME" : "E-REGIME", "$.regime",
          cat("a cumulative figure without ", join(missing, ", ")));
    }
  }

  void check_cache() {
    const json::Value* cache = envelope_.find("cache");
    if (is_true(cache, "cached_tokens_asserted") && integer(cache, "cached_tokens_observed") != 0) {
      add("E-CACHED", "$.cache", "cached_tokens_asserted needs cached_tokens_observed = 0");
    }
    const json::Value* provenance = envelope_.find("provenance");
    if (provenance != nullptr && !is_true(provenance, "verified")) {
      add("W-PROV", "$.provenance", "the weights are not proven: evidence is at most unverified");
    }
  }

  // Rows are first compared by a hash that does not depend on the order of tags; only rows with
  // equal hashes are compared as text. A million rows cost 16 bytes each.
  void check_duplicates() {
    const std::vector<ResultRow>& rows = envelope_.results;
    std::vector<std::pair<uint64_t, size_t>> hashes;
    hashes.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) hashes.emplace_back(row_hash(rows[i]), i);
    std::sort(hashes.begin(), hashes.end());
    std::vector<size_t> repeated;
    for (size_t begin = 0; begin < hashes.size();) {
      size_t end = begin + 1;
      while (end < hashes.size() && hashes[end].first == hashes[begin].first) ++end;
      if (end - begin > 1) {
        std::unordered_set<std::string> seen;
        for (size_t i = begin; i < end; ++i) {
          if (!seen.insert(row_key(rows[hashes[i].second])).second)
            repeated.push_back(hashes[i].second);
        }
      }
      begin = end;
    }
    std::sort(repeated.begin(), repeated.end());
    for (const size_t i : repeated) {
      add("E-DUP", cat("$.results[", i, "]"),
          cat("a result with the same name, metric, unit and tags stands before it: ", rows[i].name,
              " ", rows[i].metric));
    }
  }

  static uint64_t row_hash(const ResultRow& row) {
    const std::hash<std::string_view> hash;
    constexpr uint64_t kMix = 0x9E3779B97F4A7C15;
    uint64_t out = (hash(row.name) * kMix ^ hash(row.metric)) * kMix ^ hash(row.unit);
    for (const auto& [key, text] : row.tags) out += (hash(key) * kMix ^ hash(text)) * kMix;
    return out;
  }
  // Lengths keep parts apart that could run into one another.
  static std::string row_key(const ResultRow& row) {
    std::string key;
    const auto part = [&key](std::string_view text) { key += cat(text.size(), ":", text); };
    for (const std::string* text : {&row.name, &row.metric, &row.unit}) part(*text);
    for (const auto& [name, text] : sorted(row.tags)) {
      part(name);
      part(text);
    }
    return key;
  }

  const Envelope& envelope_;
  const ValidateOptions& options_;
  std::string status_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_semantics(const Envelope& envelope, const ValidateOptions& options) {
  return Checker(envelope, options).run();
}

std::vector<Problem> validate(const json::Value& document, const ValidateOptions& options) {
  std::vector<Problem> problems = check_schema(document);
  if (const auto envelope = from_json(document)) {
    for (Problem& problem : check_semantics(*envelope, options))
      problems.push_back(std::move(problem));
  }
  return problems;
}

std::optional<int64_t> parse_utc(std::string_view text) {
  // YYYY-MM-DDTHH:MM:SS, then .f…, then Z.
  if (text.size() < 20 || text.back() != 'Z') return std::nullopt;
  const auto number = [&](size_t begin, size_t count) -> int {
    int value = 0;
    for (size_t i = begin; i < begin + count; ++i) {
      if (text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  if (text.size() > 20) {
    if (text[19] != '.' || text.size() < 22) return std::nullopt;
    for (size_t i = 20; i + 1 < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
    }
  }
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return std::nullopt;
  // Days since 1970-01-01 in the proleptic Gregorian calendar, counting years from March.
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = y / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  const int64_t days = era * 146097 + day_of_era - 719468;
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

bool is_cumulative(std::string_view metric) {
  return metric == "throughput_total_toks_per_s" || metric == "throughput_output_toks_per_s" ||
         metric == "throughput_prompt_toks_per_s" || metric == "throughput_requests_per_s" ||
         metric == "throughput_aggregate_toks_per_s" ||
         metric == "throughput_aggregate_output_toks_per_s" ||
         metric == "throughput_input_toks_per_s";
}

}  // namespace assay::publish
