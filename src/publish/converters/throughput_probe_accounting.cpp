#include "publish/converters/throughput_probe_accounting.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "publish/convert.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

using json::Node;

// The format whose medians can be made again from its runs.
constexpr std::string_view kOwnFormat = "throughput-probe/1";
constexpr double kMedianTolerance = 1e-9;  // relative; only the writing of numbers lies between

Refusal contradiction(std::string what) {
  return Refusal(kConvertAccounting, std::move(what));
}

bool is_good(Node run) {
  return run.find("ok").is_true();
}

bool says_ok(Node run) {
  return run.find("ok").is_boolean();
}

Status check_not_negative(Node object, std::string_view parent,
                          std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto number = number_of(object.find(key));
    if (number && *number < 0)
      return contradiction(cat("`", json::path_of(parent, key), "` is ", count_text(*number)));
  }
  return {};
}

// `part` is "sequential" or "concurrent": n_ok and n_err against the runs of the part.
Status check_counts(Node root, Node part, std::string_view name) {
  TRY_DO(check_not_negative(part, name, {"n_ok", "n_err", "width", "wall_s"}));
  const auto ok = integer_of(part.find("n_ok")), failed = integer_of(part.find("n_err"));
  const Node runs = root.find(cat(name, "_runs"));
  if (!ok || !failed || !runs.is_array()) return {};
  const auto count = static_cast<int64_t>(runs.items().size());
  if (*ok + *failed != count) {
    return contradiction(cat("`", name, "` counts ", *ok, " good and ", *failed,
                             " failed runs, and `", name, "_runs` holds ", count));
  }
  if (!std::ranges::all_of(runs.items(), says_ok)) return {};
  const auto good = std::ranges::count_if(runs.items(), is_good);
  if (good != *ok) {
    return contradiction(
        cat("`", name, ".n_ok` is ", *ok, ", and ", good, " of `", name, "_runs` are ok"));
  }
  return {};
}

// What was allowed of a success: every failed run was answered with an error status, and there are
// no more of these than were declared.
Status check_errors(Node root) {
  const Node answers = root.find("measured_answers");
  int64_t failed = 0;
  for (const char* name : {"sequential", "concurrent"}) {
    failed += integer_of(root.at({name, "n_err"})).value_or(0);
  }
  const auto number = [&](std::string_view key) { return number_of(answers.find(key)); };
  const double errors = number("errors").value_or(0),
               allowed = number("max_error_rate").value_or(0);
  if (static_cast<double>(failed) > errors) {
    return contradiction(cat("its status is success, ", failed, " of its runs failed, and ",
                             count_text(errors), " errors were allowed for"));
  }
  const auto answered = number("answered");
  if (errors > answered.value_or(errors)) {
    return contradiction(cat("`measured_answers` counts ", count_text(errors), " errors among ",
                             count_text(*answered), " answers"));
  }
  if (answered && *answered > 0 && errors / *answered > allowed) {
    return contradiction(cat("its status is success, ", count_text(errors), " of ",
                             count_text(*answered), " answers were errors, and a share of at most ",
                             allowed, " was allowed"));
  }
  return {};
}

std::optional<double> median_of(json::Items runs, std::string_view figure) {
  std::vector<double> values;
  for (const Node run : runs) {
    if (!is_good(run)) continue;
    if (const auto value = number_of(run.find(figure))) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Status check_figures(Node root, Node sequential) {
  const Node runs = root.find("sequential_runs");
  const auto good = integer_of(sequential.find("n_ok"));
  const bool own = text_of(root.find("format")) == kOwnFormat;
  for (const char* figure :
       {"cumulative_tok_s", "decode_tok_s", "prefill_tok_s", "ttft_s", "total_s"}) {
    const Node spread = sequential.find(figure);
    const auto median = number_of(spread.find("median"));
    if (!median) continue;
    const auto count = integer_of(spread.find("count"));
    if (good && (*good == 0 || count.value_or(0) > *good)) {
      return contradiction(cat("`sequential.", figure, "` is of ",
                               count ? cat(*count) : std::string("some"), " runs, and ", *good,
                               " were good"));
    }
    if (!own || !runs.is_array()) continue;
    const auto again = median_of(runs.items(), figure);
    if (!again || std::fabs(*again - *median) > kMedianTolerance * std::fabs(*median)) {
      return contradiction(cat("`sequential.", figure, ".median` is ", *median,
                               ", and that of its runs ",
                               again ? cat(*again) : std::string("is not known")));
    }
  }
  return {};
}

Status check_tokens(Node root) {
  const auto most = integer_of(root.find("max_tokens"));
  if (!most) return {};
  for (const char* name : {"sequential_runs", "concurrent_runs"}) {
    size_t next = 0;
    for (const Node run : root.find(name).items()) {
      const size_t i = next++;
      TRY_DO(check_not_negative(run, json::path_of(name, i),
                                {"prompt_tokens", "completion_tokens", "cached_tokens",
                                 "reasoning_tokens", "ttft_s", "total_s"}));
      const auto tokens = integer_of(run.find("completion_tokens"));
      if (is_good(run) && tokens && *tokens > *most) {
        return contradiction(cat("`", json::path_of(name, i), "` has ", *tokens,
                                 " completion tokens, and `max_tokens` is ", *most));
      }
    }
  }
  return {};
}

}  // namespace

Status check_probe_accounting(Node root, bool success) {
  const Node sequential = root.find("sequential"), concurrent = root.find("concurrent");
  TRY_DO(check_counts(root, sequential, "sequential"));
  TRY_DO(check_counts(root, concurrent, "concurrent"));
  TRY_DO(check_not_negative(root.find("measured_answers"), "measured_answers",
                            {"answered", "errors", "error_rate", "max_error_rate"}));
  if (!success) return {};
  TRY_DO(check_errors(root));
  TRY_DO(check_tokens(root));
  const auto width = integer_of(concurrent.find("width")), ok = integer_of(concurrent.find("n_ok")),
             failed = integer_of(concurrent.find("n_err"));
  if (width && ok && failed && *ok + *failed != *width) {
    return contradiction(cat("`concurrent` counts ", *ok, " good and ", *failed,
                             " failed runs, and its width is ", *width));
  }
  return check_figures(root, sequential);
}

bool is_spread(Node spread, std::string_view name, std::vector<std::string>& errors) {
  const auto least = number_of(spread.find("min")), median = number_of(spread.find("median")),
             most = number_of(spread.find("max"));
  const auto ordered = [](std::optional<double> a, std::optional<double> b) {
    return !a || !b || *a <= *b;
  };
  if (ordered(0, least) && ordered(least, median) && ordered(median, most)) return true;
  const auto text = [&](std::string_view key) {
    return text_of(spread.find(key)).value_or("unknown");
  };
  errors.push_back(cat("`", name, "` has median ", text("median"), ", min ", text("min"), ", max ",
                       text("max"), ", which cannot be; left out"));
  return false;
}

}  // namespace assay::publish
