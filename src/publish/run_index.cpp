#include "publish/run_index.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/privacy.h"
#include "publish/refusals.h"
#include "publish/shard.h"
#include "publish/validate.h"

namespace assay::publish {

namespace {

struct TextField {
  const char* key;
  std::string IndexEntry::*member;
  bool required;
};
// In the order they are written.
constexpr TextField kLeading[] = {{"path", &IndexEntry::path, true},
                                  {"status", &IndexEntry::status, true},
                                  {"variant", &IndexEntry::variant, true},
                                  {"comparison_group", &IndexEntry::comparison_group, true},
                                  {"context_band", &IndexEntry::context_band, true}};
constexpr TextField kTrailing[] = {{"completion_state", &IndexEntry::completion_state, true},
                                   {"caveat", &IndexEntry::caveat, true},
                                   {"campaign_id", &IndexEntry::campaign_id, false},
                                   {"cell_id", &IndexEntry::cell_id, false},
                                   {"profile", &IndexEntry::profile, false},
                                   {"cell_status", &IndexEntry::cell_status, false},
                                   {"evidence", &IndexEntry::evidence, false},
                                   {"weights", &IndexEntry::weights, false},
                                   {"envelope_sha256", &IndexEntry::envelope_sha256, false},
                                   {"superseded_by", &IndexEntry::superseded_by, false}};

Refusal invalid(std::string detail) {
  return Refusal(kIndexInvalid, std::move(detail));
}

json::Value to_json(const IndexEntry& entry) {
  json::Value out = json::Value::object();
  const auto put = [&](const TextField& field) {
    const std::string& text = entry.*field.member;
    if (field.required || !text.empty()) out.set(field.key, text);
  };
  for (const TextField& field : kLeading) put(field);
  out.set("max_output_tokens", entry.max_output_tokens);
  for (const TextField& field : kTrailing) put(field);
  return out;
}

Result<IndexEntry> entry_from(const json::Value& value, size_t i) {
  const std::string path = json::path_of("runs", i);
  if (!value.is_object()) return invalid(cat("`", path, "` is no object"));
  IndexEntry entry;
  const auto take = [&](const TextField& field) -> Status {
    const json::Value* member = value.find(field.key);
    if (member == nullptr) {
      if (field.required) return invalid(cat("`", path, ".", field.key, "` is missing"));
      return {};
    }
    if (!member->is_string()) return invalid(cat("`", path, ".", field.key, "` is no string"));
    entry.*field.member = member->string();
    return {};
  };
  for (const TextField& field : kLeading) TRY_DO(take(field));
  for (const TextField& field : kTrailing) TRY_DO(take(field));
  const json::Value* tokens = value.find("max_output_tokens");
  if (tokens == nullptr) return invalid(cat("`", path, ".max_output_tokens` is missing"));
  const auto count = tokens->as_int64("max_output_tokens");
  if (!count) return invalid(cat("`", path, "`: ", count.refusal().detail));
  entry.max_output_tokens = *count;
  if (!entry.path.starts_with("data/run-") || !entry.path.ends_with(".parquet") ||
      !is_plain_path(entry.path)) {
    return invalid(cat("`", path, ".path` is \"", entry.path, "\", expected data/run-….parquet"));
  }
  static const std::set<std::string> statuses = {"scored", "experimental", "invalid", "recovered"};
  if (!statuses.contains(entry.status)) {
    return invalid(cat("`", path, ".status` is \"", entry.status,
                       "\", expected scored, experimental, invalid or recovered"));
  }
  return entry;
}

}  // namespace

const IndexEntry* RunIndex::find(std::string_view path) const {
  const IndexEntry* last = nullptr;
  for (const IndexEntry& entry : runs) {
    if (entry.path == path) last = &entry;
  }
  return last;
}

bool is_correction(const IndexEntry& entry, const IndexEntry& before) {
  return entry.path == before.path && entry.status == "invalid" && !entry.caveat.empty() &&
         before.status != "invalid";
}

std::string RunIndex::status_of(std::string_view path, std::string_view timestamp) const {
  if (const IndexEntry* entry = find(path)) return entry->status;
  const auto time = parse_utc(timestamp);
  const auto cutoff = parse_utc(historical_scored_before);
  return time && cutoff && *time < *cutoff ? "scored" : "experimental";
}

Result<RunIndex> parse_run_index(std::string_view bytes) {
  auto parsed = json::parse(bytes);
  if (!parsed) return invalid(parsed.refusal().detail);
  const json::Value& root = *parsed;
  if (!root.is_object()) return invalid("expected an object");
  const json::Value* version = root.find("schema_version");
  if (version == nullptr || !version->is_string() || version->string() != "run-index-v1") {
    return invalid("`schema_version` must be \"run-index-v1\"");
  }
  RunIndex index;
  for (const auto& [key, target] :
       {std::pair{"historical_scored_before", &index.historical_scored_before},
        {"policy", &index.policy}}) {
    const json::Value* value = root.find(key);
    if (value == nullptr || !value->is_string())
      return invalid(cat("`", key, "` must be a string"));
    *target = value->string();
  }
  if (!parse_utc(index.historical_scored_before)) {
    return invalid(
        cat("`historical_scored_before` is \"", index.historical_scored_before, "\", no UTC time"));
  }
  const json::Value* runs = root.find("runs");
  if (runs == nullptr || !runs->is_array()) return invalid("`runs` must be an array");
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < runs->items().size(); ++i) {
    TRY(entry, entry_from(runs->items()[i], i));
    const auto [at, first] = seen.emplace(entry.path, i);
    if (!first) {
      if (!is_correction(entry, index.runs[at->second])) {
        return invalid(cat("`", entry.path,
                           "` stands twice; only a correction may follow an entry: "
                           "status invalid, with a caveat"));
      }
      at->second = i;
    }
    index.runs.push_back(std::move(entry));
  }
  return index;
}

std::string write_run_index(const RunIndex& index) {
  std::vector<json::Value> runs;
  for (const IndexEntry& entry : index.runs) runs.push_back(to_json(entry));
  const json::Value root =
      json::Value::object({{"schema_version", "run-index-v1"},
                           {"historical_scored_before", index.historical_scored_before},
                           {"policy", index.policy},
                           {"runs", json::Value::array(std::move(runs))}});
  return json::write(root, {.indent = 1}) + "\n";
}

Status check_append(const RunIndex& before, const RunIndex& after) {
  if (after.historical_scored_before != before.historical_scored_before ||
      after.policy != before.policy) {
    return invalid("the head of the index changed; only `runs` may grow");
  }
  if (after.runs.size() < before.runs.size()) return invalid("entries were removed");
  for (size_t i = 0; i < before.runs.size(); ++i) {
    if (json::write(to_json(before.runs[i])) != json::write(to_json(after.runs[i]))) {
      return invalid(cat("entry ", i, " (`", before.runs[i].path, "`) was changed"));
    }
  }
  // Reading back checks the new entries by the same rules as any reader.
  const auto again = parse_run_index(write_run_index(after));
  if (!again) return again.refusal();
  return {};
}

Result<RunIndex> read_run_index(Store& store) {
  TRY(bytes, store.get(kRunIndexPath));
  if (!bytes) return RunIndex();
  return parse_run_index(*bytes);
}

namespace {

constexpr int kTries = 5;

// An index is as public as its shards.
IndexEntry private_entry(IndexEntry entry) {
  for (std::string IndexEntry::*text :
       {&IndexEntry::variant, &IndexEntry::comparison_group, &IndexEntry::context_band,
        &IndexEntry::completion_state, &IndexEntry::caveat, &IndexEntry::campaign_id,
        &IndexEntry::cell_id, &IndexEntry::profile}) {
    make_private(entry.*text);
  }
  return entry;
}

// The index with the entry appended, as the replacement of what the store has; nothing when the
// store's index has an entry for this path.
struct Append {
  std::optional<Replacement> replacement{};
  std::optional<IndexEntry> old{};
};
Result<Append> append_to(Store& store, const IndexEntry& entry) {
  TRY(bytes, store.get(kRunIndexPath));
  RunIndex before;
  if (bytes) {
    TRY(parsed, parse_run_index(*bytes));
    before = std::move(parsed);
  }
  const IndexEntry* old = before.find(entry.path);
  if (old != nullptr && !is_correction(entry, *old)) return Append{.old = *old};
  RunIndex after = before;
  after.runs.push_back(entry);
  TRY_DO(check_append(before, after));
  return Append{.replacement =
                    Replacement{kRunIndexPath, std::move(bytes), write_run_index(after)}};
}

Refusal kept_changing() {
  return Refusal(kStoreWrite,
                 cat("the run index changed under ", kTries, " attempts to append to it"));
}

}  // namespace

Status append_run_index(Store& store, const IndexEntry& given) {
  const IndexEntry entry = private_entry(given);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    TRY(append, append_to(store, entry));
    if (append.old) {
      if (json::write(to_json(*append.old)) == json::write(to_json(entry))) return {};
      return invalid(cat("`", entry.path, "` has an entry already; entries are never changed"));
    }
    TRY(replaced, store.replace(append.replacement->path, append.replacement->expected,
                                append.replacement->bytes));
    if (replaced) return {};
  }
  return kept_changing();
}

Result<Stored> publish_with_entry(Store& store, const NewFile& shard, const IndexEntry& given,
                                  std::string_view description) {
  const IndexEntry entry = private_entry(given);
  bool created = false;  // by an attempt whose index came too late
  for (int attempt = 0; attempt < kTries; ++attempt) {
    TRY(append, append_to(store, entry));
    TRY(stored, store.put_and_replace(shard, append.replacement, description));
    created = created || stored.outcome == PutOutcome::created;
    if (!stored.replaced) continue;
    stored.outcome = created ? PutOutcome::created : PutOutcome::already_there;
    return std::move(stored);
  }
  return kept_changing();
}

Result<std::vector<std::string>> find_damaged(Store& store) {
  TRY(files, store.list("data"));
  std::vector<std::string> damaged;
  for (const StoredFile& file : files) {
    const std::string_view digest = digest_in_name(file.path);
    if (digest.empty()) continue;
    TRY(bytes, store.get(file.path));
    if (bytes && !sha256_hex(*bytes).starts_with(digest)) damaged.push_back(file.path);
  }
  return damaged;
}

Result<std::vector<std::string>> check_paths_exist(Store& store, const RunIndex& index) {
  TRY(files, store.list("data"));
  std::set<std::string> there;
  for (const StoredFile& file : files) there.insert(file.path);
  std::vector<std::string> missing;
  for (const IndexEntry& entry : index.runs) {
    if (!there.contains(entry.path)) missing.push_back(entry.path);
  }
  return missing;
}

}  // namespace assay::publish
