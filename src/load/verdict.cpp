#include "load/verdict.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace assay::load {

namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string pair_text(const Pair& pair) {
  return cat(format_fixed(pair.first, 3), " and ", format_fixed(pair.second, 3));
}

void count_run(const ComparedRun& run, const VerdictRules& rules, ClassCount& count,
               std::optional<int64_t>& last) {
  for (const auto& [name, pair] :
       {std::pair{&run.candidate, &run.candidate_pair}, {&run.control, &run.control_pair}}) {
    if (agrees(*pair, rules)) continue;
    count.discarded.push_back(
        cat(run.source, ": the pair of ", *name, " diverges (", pair_text(*pair), ")"));
    return;
  }
  if (last && run.time_seconds - *last < rules.spacing_seconds) {
    count.discarded.push_back(cat(run.source, ": less than ", rules.spacing_seconds / 86400,
                                  " days after the run counted before it"));
    return;
  }
  last = run.time_seconds;
  count.ratios.push_back(mean_of(run.candidate_pair) / mean_of(run.control_pair));
}

}  // namespace

double mean_of(const Pair& pair) {
  return (pair.first + pair.second) / 2;
}

bool agrees(const Pair& pair, const VerdictRules& rules) {
  if (!std::isfinite(pair.first) || !std::isfinite(pair.second) || pair.first < 0 ||
      pair.second < 0 || mean_of(pair) <= 0) {
    return false;
  }
  const double difference = std::fabs(pair.first - pair.second);
  return rules.bounded ? difference <= rules.bounded_max
                       : difference / mean_of(pair) <= rules.relative_max;
}

double Verdict::ratio(std::string_view env_class) const {
  const auto found = classes.find(std::string(env_class));
  return found == classes.end() ? 0 : median_of(found->second.ratios);
}

std::string Verdict::sentence(std::string_view env_class, const VerdictRules& rules) const {
  const auto found = classes.find(std::string(env_class));
  const size_t runs = found == classes.end() ? 0 : found->second.ratios.size();
  std::string out;
  if (runs == 0) {
    out = cat("no counted run of ", candidate, " against ", control);
  } else {
    const double middle = ratio(env_class);
    const std::string count = cat(runs, runs == 1 ? " run" : " runs");
    if (middle == 1) {
      out = cat("neither ", candidate, " nor ", control, " leads as of ", count);
    } else {
      const bool ours = middle > 1;
      out = cat(ours ? candidate : control, " leads ", ours ? control : candidate, " as of ", count,
                " (in ", found->second.led, " of ", runs, ", median ratio candidate/control ",
                format_fixed(middle, 3), ")");
    }
  }
  return final_ ? out + ", final"
                : cat(out, ", PROVISIONAL ",
                      std::min<size_t>(runs, static_cast<size_t>(rules.runs_needed)), "/",
                      rules.runs_needed);
}

std::vector<Verdict> count_verdicts(std::vector<ComparedRun> runs, const VerdictRules& rules) {
  std::stable_sort(runs.begin(), runs.end(), [](const ComparedRun& a, const ComparedRun& b) {
    return a.time_seconds < b.time_seconds;
  });
  std::vector<Verdict> verdicts;
  std::map<std::pair<size_t, std::string>, std::optional<int64_t>> last;
  for (const ComparedRun& run : runs) {
    size_t at = 0;
    while (at < verdicts.size() &&
           (verdicts[at].config != run.config || verdicts[at].candidate != run.candidate ||
            verdicts[at].control != run.control)) {
      ++at;
    }
    if (at == verdicts.size()) {
      verdicts.push_back({.config = run.config,
                          .candidate = run.candidate,
                          .control = run.control,
                          .classes = {}});
      for (const char* name : {"isolated", "under-load"}) verdicts[at].classes[name];
    }
    count_run(run, rules, verdicts[at].classes[run.env_class], last[{at, run.env_class}]);
  }
  for (Verdict& verdict : verdicts) {
    verdict.final_ = true;
    for (auto& [name, count] : verdict.classes) {
      if (count.ratios.size() < static_cast<size_t>(rules.runs_needed)) verdict.final_ = false;
      const double middle = median_of(count.ratios);
      count.led = static_cast<int>(
          std::count_if(count.ratios.begin(), count.ratios.end(),
                        [&](double ratio) { return middle > 1 ? ratio > 1 : ratio < 1; }));
    }
  }
  return verdicts;
}

}  // namespace assay::load
