// hf://datasets/OWNER/NAME[@REVISION]: a store in a dataset repository on a hub.
//
// A shard and its index entry go in one commit that names its parent: when the dataset moved on
// meanwhile the hub refuses it, nothing is stored, and the entry is appended again to the index as
// it is then. A commit whose reply is lost is not repeated blindly: first the dataset is asked
// whether it arrived.
#include <map>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/hub_api.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr int kCommitsMax = 6;

class HubStore final : public Store {
 public:
  HubStore(HubPlace place, Outside outside, std::unique_ptr<HttpClient> client)
      : outside_(std::move(outside)),
        revision_(place.revision),
        create_pr_(outside_.options.create_pr),
        api_(std::move(place), outside_.patience, std::move(client)) {}

  Result<PutOutcome> put_once(std::string_view path, std::string_view bytes) override {
    for (int attempt = 0; attempt < kCommitsMax; ++attempt) {
      TRY(stored, store(NewFile{path, bytes}, std::nullopt, cat("feat: add ", path)));
      if (stored.replaced) return stored.outcome;
    }
    return Refusal(kStoreWrite, cat("`", url(), "` kept moving while `", path, "` was committed"));
  }

  Result<bool> replace(std::string_view path, const std::optional<std::string>& expected,
                       std::string_view bytes) override {
    const Replacement replacement{path, expected, std::string(bytes)};
    TRY(stored, store(std::nullopt, replacement, cat("chore: update ", path)));
    return stored.replaced;
  }

  Result<Stored> put_and_replace(const NewFile& file, const std::optional<Replacement>& replacement,
                                 std::string_view description) override {
    if (replacement) return store(file, replacement, description);
    Stored stored;
    for (int attempt = 0; attempt < kCommitsMax; ++attempt) {
      TRY(tried, store(file, std::nullopt, description));
      stored = std::move(tried);
      if (stored.replaced) return stored;
    }
    return Refusal(kStoreWrite, cat("`", url(), "` kept moving while it was committed to"));
  }

  Result<std::optional<std::string>> get(std::string_view path) override {
    TRY_DO(check(path));
    TRY(content, api_.read(revision_, path));
    if (!content) {
      seen_.erase(std::string(path));
      return std::optional<std::string>();
    }
    seen_[std::string(path)] = {sha256_hex(content->bytes), content->commit};
    return std::optional<std::string>(std::move(content->bytes));
  }

  Result<std::vector<StoredFile>> list(std::string_view folder) override {
    TRY_DO(check(folder));
    return api_.list(revision_, folder);
  }

  [[nodiscard]] std::string url() const override { return api_.place().url(); }

 private:
  struct Seen {
    std::string sha256, commit;
  };

  static Status check(std::string_view path) {
    if (is_plain_path(path)) return {};
    return Refusal(kStoreUrl, cat("`", path, "` is no plain relative path"));
  }

  // The commit at which the replaced file still is as expected: what the new commit builds on.
  // Nothing when the file is not as expected any more.
  Result<std::optional<std::string>> parent_for(const std::optional<Replacement>& replacement) {
    if (replacement && replacement->expected) {
      const auto seen = seen_.find(replacement->path);
      if (seen != seen_.end() && !seen->second.commit.empty() &&
          seen->second.sha256 == sha256_hex(*replacement->expected)) {
        return std::optional<std::string>(seen->second.commit);
      }
    }
    TRY(commit, api_.commit_of(revision_));
    if (!replacement) return std::optional<std::string>(commit);
    TRY(content, api_.read(commit.empty() ? revision_ : commit, replacement->path));
    const bool as_expected =
        content ? content->bytes == replacement->expected : !replacement->expected.has_value();
    if (!as_expected) return std::optional<std::string>();
    if (commit.empty() && content) commit = content->commit;
    if (commit.empty()) {
      outside_.patience.say(
          "the hub does not say which commit it is at: two publishers at once could lose an entry");
    }
    return std::optional<std::string>(commit);
  }

  Result<Stored> store(const std::optional<NewFile>& file,
                       const std::optional<Replacement>& replacement,
                       std::string_view description) {
    std::vector<HubFile> files;
    if (file) files.push_back({.path = file->path, .bytes = file->bytes});
    if (replacement) files.push_back({.path = replacement->path, .bytes = replacement->bytes});
    for (const HubFile& each : files) TRY_DO(check(each.path));
    TRY(parent, parent_for(replacement));
    if (!parent) return Stored{.replaced = false};

    TRY_DO(api_.preupload(revision_, create_pr_, files));
    Stored stored;
    std::vector<HubFile> wanted;
    for (const HubFile& each : files) {
      const bool is_new_file = file && &each == &files.front();
      if (each.already_there()) {
        if (is_new_file) stored.outcome = PutOutcome::already_there;
        continue;
      }
      if (is_new_file && !each.known_oid.empty()) {
        return Refusal(kStoreDifferentBytes,
                       cat("`", url(), "/", each.path, "` is stored as ", one_line(each.known_oid),
                           ", which differs from the ", each.bytes.size(), " bytes to publish"));
      }
      wanted.push_back(each);
    }
    if (wanted.empty()) return stored;
    for (const HubFile& each : wanted) {
      if (each.large) TRY_DO(api_.upload(revision_, each));
    }
    return commit(std::move(stored), *parent, description, wanted);
  }

  Result<Stored> commit(Stored stored, const std::string& parent, std::string_view description,
                        const std::vector<HubFile>& files) {
    bool uncertain = false;
    for (int retry = 0; retry < kCommitsMax; ++retry) {
      TRY(attempt, api_.commit(revision_, create_pr_, parent, description, files));
      if (attempt.outcome == CommitAttempt::done) {
        note(attempt, stored);
        return stored;
      }
      if (attempt.outcome == CommitAttempt::moved) {
        if (uncertain) {
          TRY(arrived, all_there(files));
          if (arrived) return stored;
        }
        stored.replaced = false;
        return stored;
      }
      if (attempt.outcome == CommitAttempt::uncertain && create_pr_) {
        return Refusal(kStoreUnreachable,
                       cat(attempt.problem,
                           "; a pull request may have been opened: look at the dataset's "
                           "discussions before publishing again"));
      }
      const auto pause = attempt.pause.count() > 0 ? attempt.pause : pause_before(retry, nullptr);
      if (retry + 1 == kCommitsMax || pause > outside_.patience.wait_max)
        return Refusal(kStoreBusy, cat(attempt.problem, ", ", retry + 1, " attempts"));
      outside_.patience.say(cat(attempt.problem, "; looking again in ", pause.count(), " s"));
      outside_.patience.sleep(pause);
      if (attempt.outcome == CommitAttempt::uncertain) {
        uncertain = true;
        TRY(arrived, all_there(files));
        if (arrived) return stored;
      }
    }
    return Refusal(kStoreBusy, "the commit was not taken");
  }

  // Whether the revision has these files with these bytes.
  Result<bool> all_there(const std::vector<HubFile>& files) {
    for (const HubFile& file : files) {
      TRY(content, api_.read(revision_, file.path));
      if (!content || content->bytes != file.bytes) return false;
    }
    return true;
  }

  void note(const CommitAttempt& attempt, Stored& stored) {
    seen_.clear();
    if (attempt.pull_request.empty()) return;
    stored.remark = one_line(attempt.pull_request);
    // What follows goes onto the same pull request: …/discussions/7 is refs/pr/7.
    const size_t slash = attempt.pull_request.rfind('/');
    const auto number = parse_uint64(std::string_view(attempt.pull_request).substr(slash + 1));
    if (!number) return;
    revision_ = cat("refs/pr/", *number);
    create_pr_ = false;
  }

  Outside outside_;
  std::string revision_;
  bool create_pr_;
  HubApi api_;
  std::map<std::string, Seen, std::less<>> seen_;  // of what was read last
};

}  // namespace

Result<std::unique_ptr<Store>> open_hub_store(std::string_view url, const StoreOptions& options,
                                              std::unique_ptr<HttpClient> client) {
  Outside outside = outside_of(options);
  TRY(place, hub_place(url, outside));
  if (place.kind != "datasets")
    return Refusal(kStoreUrl, cat("`", url, "` is no dataset: results go into one"));
  if (client == nullptr) client = curl_client();
  return std::unique_ptr<Store>(
      std::make_unique<HubStore>(std::move(place), std::move(outside), std::move(client)));
}

}  // namespace assay::publish
