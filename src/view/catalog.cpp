#include "view/catalog.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/run_index.h"
#include "publish/validate.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

constexpr std::string_view kFolder = "data";
constexpr std::string_view kFileScheme = "file://";

// Modification time of a file in a folder store; object stores have none, their paths are enough.
int64_t modified_ns(std::string_view url, const std::string& path) {
  if (!url.starts_with(kFileScheme)) return 0;
  struct stat info {};
  const std::string file = cat(url.substr(kFileScheme.size()), "/", path);
  if (::lstat(file.c_str(), &info) != 0) return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// data/run-canonical-X -> data/X, "" for any other path.
std::string original_of(const std::string& path) {
  constexpr std::string_view kTwin = "data/run-canonical-";
  if (!path.starts_with(kTwin)) return "";
  return cat("data/", std::string_view(path).substr(kTwin.size()));
}

ShardFacts facts_of(publish::Store& store, const std::string& path) {
  ShardFacts facts;
  if (!is_utf8(path)) {
    facts.problem = Refusal(kShardName, "the name is no UTF-8").text();
    return facts;
  }
  const auto bytes = store.get(path);
  if (!bytes) {
    facts.problem = mended_utf8(bytes.refusal().text());
  } else if (!*bytes) {
    facts.problem = Refusal(publish::kStoreRead, "the file was there and is gone").text();
  } else {
    facts = read_facts(path, **bytes);
  }
  return facts;
}

struct RunIndexState {
  publish::RunIndex index{};
  std::unordered_map<std::string_view, const publish::IndexEntry*> by_path{};
  std::string state = "ok", problem{};
  std::optional<int64_t> cutoff{};
};

void read_index(publish::Store& store, RunIndexState& out) {
  const auto bytes = store.get(publish::kRunIndexPath);
  if (bytes && !*bytes) {
    out.state = "missing";
    out.problem = cat(publish::kRunIndexPath, " is not in the store");
    return;
  }
  auto index =
      bytes ? publish::parse_run_index(**bytes) : Result<publish::RunIndex>(bytes.refusal());
  if (!index) {
    out.state = "unreadable";
    out.problem = mended_utf8(index.refusal().text());
    return;
  }
  out.index = *std::move(index);
  out.cutoff = publish::parse_utc(out.index.historical_scored_before);
  for (const publish::IndexEntry& entry : out.index.runs) out.by_path[entry.path] = &entry;
}

// The columns of a run that do not come from its shard, in order.
constexpr const char* kJoined[] = {"path",
                                   "size",
                                   "sha256",
                                   "evidence",
                                   "era",
                                   "weights",
                                   "indexed",
                                   "layout",
                                   "twin",
                                   "rows",
                                   "rows_listed",
                                   "variant",
                                   "comparison_group",
                                   "context_band",
                                   "max_output_tokens",
                                   "completion_state",
                                   "caveat",
                                   "superseded_by"};

std::string text_or_null(const std::string& text) {
  return text.empty() ? "" : json_text(text);
}

class Builder {
 public:
  Builder(const RunIndexState& run_index, Index& index) : run_index_(run_index), index_(index) {
    for (const char* name : kJoined) index_.shards.emplace_back(name);
    for (const std::string& name : run_cells()) index_.shards.emplace_back(name);
    index_.rows.emplace_back("shard");
    for (const std::string& name : row_cells()) index_.rows.emplace_back(name);
    const auto cell = [](std::string_view name) {
      const auto& names = run_cells();
      return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    timestamp_ = cell("timestamp");
    verified_ = cell("weights_verified");
  }

  void add(const std::string& path, const CachedFacts& cached, const std::string& twin) {
    const ShardFacts& facts = cached.facts;
    if (!facts.problem.empty()) index_.problems.push_back({path, facts.problem, facts.shown});
    if (!facts.shown) return;
    const publish::IndexEntry* entry = entry_of(path);
    if (entry == nullptr && !twin.empty()) entry = entry_of(twin);

    std::vector<std::string_view> run(run_cells().size());
    CellReader reader(facts.cells);
    for (std::string_view& cell : run) cell = reader.next();

    const bool historical = is_historical(run[timestamp_]);
    const bool proven = run[verified_] == "true";
    if (entry != nullptr && entry->weights == "verified" && !proven) {
      index_.problems.push_back(
          {path, Refusal(kIndexUnproven, "the shard has no provenance that is verified").text(),
           true});
    }
    const std::string joined[] = {
        json_text(path),
        cat(cached.size_bytes),
        json_text(facts.sha256),
        json_text(entry != nullptr ? entry->status
                  : historical     ? "scored"
                                   : "experimental"),
        json_text(entry != nullptr && !entry->evidence.empty() ? entry->evidence
                  : historical                                 ? "historical"
                                                               : "current"),
        json_text(proven && (entry == nullptr || entry->weights != "unverified") ? "verified"
                                                                                 : "unverified"),
        entry != nullptr ? "true" : "false",
        json_text(facts.foreign ? "foreign" : "assay"),
        text_or_null(twin),
        cat(facts.rows),
        cat(facts.rows_listed),
        entry != nullptr ? text_or_null(entry->variant) : "",
        entry != nullptr ? text_or_null(entry->comparison_group) : "",
        entry != nullptr ? text_or_null(entry->context_band) : "",
        entry != nullptr && entry->max_output_tokens > 0 ? cat(entry->max_output_tokens) : "",
        entry != nullptr ? text_or_null(entry->completion_state) : "",
        entry != nullptr ? text_or_null(entry->caveat) : "",
        entry != nullptr ? text_or_null(entry->superseded_by) : ""};
    static_assert(std::size(joined) == std::size(kJoined));
    size_t column = 0;
    for (const std::string& cell : joined) index_.shards[column++].add(cell);
    for (const std::string_view cell : run) index_.shards[column++].add(cell);

    const std::string number = cat(index_.files.size());
    for (uint64_t row = 0; row < facts.rows_listed; ++row) {
      index_.rows[0].add(number);
      for (size_t i = 1; i < index_.rows.size(); ++i) index_.rows[i].add(reader.next());
    }
    index_.files.push_back({path, facts.sha256, cached.size_bytes});
  }

 private:
  const publish::IndexEntry* entry_of(const std::string& path) const {
    const auto found = run_index_.by_path.find(path);
    return found == run_index_.by_path.end() ? nullptr : found->second;
  }
  // `timestamp` is a JSON string; a time of ours needs no escapes.
  bool is_historical(std::string_view timestamp) const {
    if (!run_index_.cutoff || timestamp.size() < 2) return false;
    const auto time = publish::parse_utc(timestamp.substr(1, timestamp.size() - 2));
    return time && *time < *run_index_.cutoff;
  }

  const RunIndexState& run_index_;
  Index& index_;
  size_t timestamp_ = 0, verified_ = 0;
};

}  // namespace

Result<Catalog> Catalog::open(std::string url, std::filesystem::path cache_folder) {
  Catalog catalog(std::move(url));
  TRY(store, publish::open_store(catalog.url_));
  catalog.store_ = std::move(store);
  // An empty page would hide a misspelt path.
  constexpr std::string_view kFile = "file://";
  if (catalog.url_.starts_with(kFile) &&
      !std::filesystem::is_directory(catalog.url_.substr(kFile.size()))) {
    return Refusal(publish::kStoreNotFound, cat("`", catalog.url_, "`: there is no such folder"));
  }
  if (!cache_folder.empty()) {
    catalog.cache_file_ = cache_file(cache_folder, catalog.url_);
    catalog.facts_ = load_facts(catalog.cache_file_, catalog.url_);
  }
  return catalog;
}

Status Catalog::read_new(const std::vector<publish::StoredFile>& files) {
  FactsByPath next;
  next.reserve(files.size());
  std::vector<std::pair<const publish::StoredFile*, CachedFacts*>> wanted;
  bool changed = files.size() != facts_.size();
  for (const publish::StoredFile& file : files) {
    const int64_t modified = modified_ns(url_, file.path);
    const auto known = facts_.find(file.path);
    const bool same = known != facts_.end() && known->second.size_bytes == file.size_bytes &&
                      known->second.modified_ns == modified;
    CachedFacts& slot = next[file.path];
    if (same) {
      slot = std::move(known->second);
    } else {
      slot.size_bytes = file.size_bytes;
      slot.modified_ns = modified;
      wanted.emplace_back(&file, &slot);
    }
  }
  facts_ = std::move(next);
  counts_.listed = files.size();
  counts_.read_anew = wanted.size();
  changed = changed || !wanted.empty();

  std::atomic<size_t> position{0};
  const auto work = [&](publish::Store& store) {
    for (size_t i = position++; i < wanted.size(); i = position++)
      wanted[i].second->facts = facts_of(store, wanted[i].first->path);
  };
  // Files wait for a CPU, objects behind a server for the wire.
  constexpr size_t kThreadsMax = 8;
  const size_t cpus = std::max(std::thread::hardware_concurrency(), 1U);
  const size_t together = url_.starts_with(kFileScheme) ? std::min(cpus, kThreadsMax) : kThreadsMax;
  const size_t helpers = std::min(together, wanted.size() / 16 + 1) - 1;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < helpers; ++i) {
    // A store answers one call at a time: each thread has its own.
    auto opened = publish::open_store(url_);
    if (!opened) break;
    threads.emplace_back(
        [&work, store = std::shared_ptr<publish::Store>(*std::move(opened))] { work(*store); });
  }
  work(*store_);
  threads.clear();

  // A file that could not be read may be readable next time.
  for (const auto& [file, slot] : wanted) {
    if (slot->facts.sha256.empty()) slot->modified_ns = -1;
  }
  cache_remark_.clear();
  if (changed && !cache_file_.empty()) {
    const auto saved = save_facts(cache_file_, url_, facts_);
    if (!saved) cache_remark_ = saved.refusal().text();
  }
  return {};
}

Result<Index> Catalog::list() {
  // Before the shards: an entry is written after its shard, so that none seen here can be in vain
  // only because somebody is publishing.
  RunIndexState run_index;
  read_index(*store_, run_index);
  TRY(listed, store_->list(kFolder));
  std::vector<publish::StoredFile> files;
  std::vector<std::string> nested;
  for (publish::StoredFile& file : listed) {
    if (!file.path.ends_with(".parquet")) continue;
    if (file.path.find('/', kFolder.size() + 1) == std::string::npos) {
      files.push_back(std::move(file));
    } else {
      nested.push_back(std::move(file.path));
    }
  }
  TRY_DO(read_new(files));

  Index index;
  for (const std::string& path : nested) {
    index.problems.push_back(
        {path, Refusal(kShardName, "it lies in a folder below data/").text(), false});
  }
  index.store = mended_utf8(url_);
  index.state = run_index.state;
  index.state_problem = run_index.problem;
  if (run_index.state == "ok") {
    index.historical_scored_before = run_index.index.historical_scored_before;
    index.policy = run_index.index.policy;
  }
  // A twin stands in for its original only where that one cannot be shown.
  std::unordered_map<std::string, std::string> twin_of;
  for (const publish::StoredFile& file : files) {
    const std::string original = original_of(file.path);
    const auto found = original.empty() ? facts_.end() : facts_.find(original);
    if (found != facts_.end() && found->second.facts.shown) twin_of.emplace(original, file.path);
  }
  Builder builder(run_index, index);
  for (const publish::StoredFile& file : files) {
    const std::string original = original_of(file.path);
    if (!original.empty() && twin_of.contains(original)) {
      index.problems.push_back(
          {file.path, Refusal(kShardTwin, cat("`", original, "` is the run")).text(), false});
      continue;
    }
    const auto twin = twin_of.find(file.path);
    builder.add(file.path, facts_.at(file.path), twin != twin_of.end() ? twin->second : "");
  }
  for (const publish::IndexEntry& entry : run_index.index.runs) {
    if (facts_.contains(entry.path)) continue;
    index.problems.push_back(
        {entry.path, Refusal(kIndexLost, "the run index has an entry for it").text(), false});
  }
  return index;
}

void keep_newest(Index& index, size_t count) {
  const size_t all = index.files.size();
  if (all <= count) return;
  const Column& time = *index.shard_column("timestamp");
  std::vector<size_t> order(all);
  std::iota(order.begin(), order.end(), size_t{0});
  // JSON strings of UTC times sort as the times do.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return time.at(a) > time.at(b); });
  order.resize(count);
  std::sort(order.begin(), order.end());

  std::vector<size_t> place(all, all);
  std::vector<Column> shards, rows;
  for (const Column& column : index.shards) shards.emplace_back(column.name());
  for (const Column& column : index.rows) rows.emplace_back(column.name());
  std::vector<ShardFile> files;
  for (size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    files.push_back(index.files[order[i]]);
    for (size_t c = 0; c < shards.size(); ++c) shards[c].add(index.shards[c].at(order[i]));
  }
  const Column& shard = index.rows[0];
  for (size_t row = 0; row < shard.size(); ++row) {
    const size_t to = place[*parse_uint64(shard.at(row))];
    if (to == all) continue;
    rows[0].add(cat(to));
    for (size_t c = 1; c < rows.size(); ++c) rows[c].add(index.rows[c].at(row));
  }
  index.files = std::move(files);
  index.shards = std::move(shards);
  index.rows = std::move(rows);
  index.left_out = all - count;
}

std::string newest_timestamp(const Index& index) {
  std::string newest = "1970-01-01T00:00:00Z";
  int64_t newest_seconds = 0;
  const Column* time = index.shard_column("timestamp");
  for (size_t i = 0; time != nullptr && i < time->size(); ++i) {
    const std::string_view cell = time->at(i);
    if (cell.size() < 2) continue;
    const std::string_view text = cell.substr(1, cell.size() - 2);
    const auto seconds = publish::parse_utc(text);
    if (seconds && *seconds > newest_seconds) {
      newest_seconds = *seconds;
      newest = text;
    }
  }
  return newest;
}

}  // namespace assay::view
