// When may it be said that one model leads another? Pure counting.
//
// A run      one session in which candidate and control were each measured twice, back to back,
// with
//            equal configuration: two pairs.
// Agrees     |first - second| / mean <= 15 %; of a rate between 0 and 1: |first - second| <= 0.10.
//            A run with a pair that diverges is discarded whole.
// Counts     runs of one environment class at least five days apart, oldest first.
// Final      four counted runs in each class, isolated and under-load. Until then PROVISIONAL, N/4.
// Threads    plain functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::load {

struct VerdictRules {
  double relative_max = 0.15;
  double bounded_max = 0.10;
  bool bounded = false;  // the metric is a rate between 0 and 1
  int64_t spacing_seconds = 5 * 86400;
  int runs_needed = 4;
};

struct Pair {
  double first = 0, second = 0;
};
[[nodiscard]] double mean_of(const Pair& pair);
/// False too when the values are not positive numbers that can be compared.
[[nodiscard]] bool agrees(const Pair& pair, const VerdictRules& rules);

struct ComparedRun {
  std::string env_class;  // isolated | under-load
  std::string config;     // whatever must be equal: window, prompt, output, concurrency …
  std::string candidate, control;
  int64_t time_seconds = 0;  // UTC
  Pair candidate_pair{}, control_pair{};
  std::string source{};  // for people: the file
};

struct ClassCount {
  std::vector<double> ratios{};          // candidate / control of the counted runs, in time order
  std::vector<std::string> discarded{};  // "FILE: why"
  int led = 0;                           // counted runs in which the leader leads
};

struct Verdict {
  std::string config, candidate, control;
  std::map<std::string, ClassCount> classes{};  // isolated and under-load, always both
  bool final_ = false;

  /// The median ratio of the class; 0 without counted runs.
  [[nodiscard]] double ratio(std::string_view env_class) const;
  /// "B leads A as of 3 runs (3 of 3, median ratio 1.420), PROVISIONAL 3/4".
  [[nodiscard]] std::string sentence(std::string_view env_class, const VerdictRules& rules) const;
};

/// One verdict a configuration and pair of models, in the order in which they first appear.
[[nodiscard]] std::vector<Verdict> count_verdicts(std::vector<ComparedRun> runs,
                                                  const VerdictRules& rules);

}  // namespace assay::load
