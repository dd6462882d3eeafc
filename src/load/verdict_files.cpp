#include "load/verdict_files.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

constexpr uint64_t kFileMax = uint64_t{1} << 28;

const json::Value* dig(const json::Value& value, std::initializer_list<std::string_view> keys) {
  const json::Value* at = &value;
  for (const std::string_view key : keys) {
    if (!at->is_object()) return nullptr;
    at = at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string text_at(const json::Value& value, std::initializer_list<std::string_view> keys) {
  const json::Value* found = dig(value, keys);
  if (found == nullptr) return {};
  if (found->is_string()) return found->string();
  return found->is_number() ? found->literal() : std::string();
}

// "2026-04-24T18:30:00…Z" to seconds since 1970.
std::optional<int64_t> utc_seconds(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z' || text[10] != 'T') return std::nullopt;
  const auto year = parse_int64(text.substr(0, 4)), month = parse_int64(text.substr(5, 2)),
             day = parse_int64(text.substr(8, 2)), hour = parse_int64(text.substr(11, 2)),
             minute = parse_int64(text.substr(14, 2)), second = parse_int64(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return int64_t{days} * 86400 + *hour * 3600 + *minute * 60 + *second;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The medians of the first `first` measured runs and of the rest; nothing when a half is empty or a
// run has no such figure, or one that no rate can be.
std::optional<Pair> halves(const json::Value* runs, size_t first, std::string_view figure) {
  if (runs == nullptr || !runs->is_array() || first == 0 || runs->items().size() <= first)
    return std::nullopt;
  std::vector<double> values;
  for (const json::Value& run : runs->items()) {
    const json::Value* value = dig(run, {figure});
    const auto number =
        value != nullptr && value->is_number() ? parse_double(value->literal()) : std::nullopt;
    if (!number || *number <= 0) return std::nullopt;
    values.push_back(*number);
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(first);
  return Pair{median_of({values.begin(), middle}), median_of({middle, values.end()})};
}

// What must be equal for two runs to be of one kind.
std::string config_of(const json::Value& root) {
  return cat("window ", text_at(root, {"context", "configured_window_tokens"}), ", prompt ",
             text_at(root, {"context", "requested_prompt_tokens"}), ", output ",
             text_at(root, {"max_tokens"}), ", prefix ", text_at(root, {"cache", "prefix_policy"}),
             ", thinking ", text_at(root, {"regime", "thinking"}));
}

// The run in one file, or why there is none.
std::optional<ComparedRun> run_of(const std::filesystem::path& path, std::string_view figure,
                                  std::string& why) {
  const auto bytes = read_file(path, kFileMax);
  if (!bytes) {
    why = bytes.refusal().text();
    return std::nullopt;
  }
  const auto root = json::parse(*bytes);
  if (!root || !root->is_object()) {
    why = root ? "no JSON object" : root.refusal().text();
    return std::nullopt;
  }
  if (const std::string status = text_at(*root, {"cell_status"}); status != "success") {
    why = cat("its status is ", status.empty() ? "not stated" : status);
    return std::nullopt;
  }
  if (const std::string name = text_at(*root, {"env_class"});
      name != "isolated" && name != "under-load") {
    why = cat("its env_class is ", name.empty() ? "not stated" : name,
              ", expected isolated or under-load");
    return std::nullopt;
  }
  const json::Value* control = root->find("control_run");
  if (control == nullptr || text_at(*control, {"cell_status"}) != "success") {
    why = "no control was measured beside it";
    return std::nullopt;
  }
  const auto first = parse_int64(text_at(*root, {"legs", "candidate_first"}));
  const auto of_control = parse_int64(text_at(*root, {"legs", "control"}));
  const auto time = utc_seconds(text_at(*root, {"started_utc"}));
  const auto candidate_pair =
      halves(root->find("sequential_runs"),
             static_cast<size_t>(std::max<int64_t>(first.value_or(0), 0)), figure);
  const auto control_pair =
      halves(control->find("sequential_runs"),
             static_cast<size_t>(std::max<int64_t>(of_control.value_or(0), 0)) / 2, figure);
  if (!time || !candidate_pair || !control_pair) {
    why = cat("it has no two halves with ", figure);
    return std::nullopt;
  }
  return ComparedRun{.env_class = text_at(*root, {"env_class"}),
                     .config = config_of(*root),
                     .candidate = text_at(*root, {"campaign", "profile"}),
                     .control = text_at(*control, {"campaign", "profile"}),
                     .time_seconds = *time,
                     .candidate_pair = *candidate_pair,
                     .control_pair = *control_pair,
                     .source = path.string()};
}

// The throughput.json below a folder. A folder that cannot be read is named, and the others count.
void find_files(const std::filesystem::path& folder, std::vector<std::filesystem::path>& files,
                std::vector<std::string>& left_out) {
  std::error_code error;
  std::vector<std::filesystem::path> inner;
  for (std::filesystem::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    std::error_code ignored;
    if (entries->symlink_status(ignored).type() == std::filesystem::file_type::directory) {
      inner.push_back(entries->path());
    } else if (entries->path().filename() == "throughput.json") {
      files.push_back(entries->path());
    }
  }
  if (error) left_out.push_back(cat(folder.string(), ": ", error.message()));
  for (const std::filesystem::path& each : inner) find_files(each, files, left_out);
}

}  // namespace

Result<FoundRuns> find_runs(const std::vector<std::filesystem::path>& folders,
                            std::string_view figure) {
  std::vector<std::filesystem::path> files;
  FoundRuns found;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    const std::filesystem::directory_iterator entries(folder, error);
    if (error) return Refusal(kVerdictInput, cat("`", folder.string(), "`: ", error.message()));
    find_files(folder, files, found.left_out);
  }
  if (files.empty()) return Refusal(kVerdictInput, "no throughput.json below the folders named");
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (const std::filesystem::path& file : files) {
    std::string why;
    if (auto run = run_of(file, figure, why)) {
      found.runs.push_back(*std::move(run));
    } else {
      found.left_out.push_back(cat(file.string(), ": ", why));
    }
  }
  return found;
}

}  // namespace assay::load
