// The dataset hub's HTTP interface, as far as a store needs it: one function for each request.
//
// Writing a file takes four steps: preupload says how the hub wants it (in the commit itself, or as
// a large file), the large-file batch says where its bytes go, they are put there, and a commit
// names all files at once.
// Errors    the stores' refusals (store.h). The token stands in no message, and goes to the hub's
//           own host only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "publish/remote_store.h"

namespace assay::publish {

struct HubPlace {
  std::string endpoint{};  // no slash at the end
  std::string kind{};      // "datasets" or "spaces"
  std::string name{};      // "owner/name"
  std::string revision{};  // "main"; not percent-encoded
  std::string token{};     // secret; may be empty when reading

  [[nodiscard]] std::string url() const;  // "hf://datasets/owner/name@revision"
};
/// A dataset, or a space (a page that the hub serves).
/// Refuses STORE-URL, STORE-CREDENTIALS-MISSING (no token when writing), STORE-INSECURE.
[[nodiscard]] Result<HubPlace> hub_place(std::string_view url, const Outside& outside);

/// A file on its way to the hub.
struct HubFile {
  std::string_view path;
  std::string_view bytes;
  std::string sha256{};
  bool large = false;       // after preupload: goes through the large-file store
  std::string known_oid{};  // after preupload: what the hub has under this path, empty = nothing

  /// The hub has just these bytes under this path.
  [[nodiscard]] bool already_there() const;
};

struct HubContent {
  std::string bytes;
  std::string commit;  // that this content is of; empty when the hub does not say
};

/// How one attempt to commit ended.
struct CommitAttempt {
  enum Outcome {
    done,
    moved,        // the revision has another commit than `parent` by now
    turned_away,  // told to wait; nothing happened
    uncertain,    // no reply, or a server's fault: it may have happened
  } outcome = done;
  std::string commit{};
  std::string pull_request{};  // address, when one was opened
  std::string problem{};       // of turned_away and uncertain
  std::chrono::seconds pause{0};
};

class HubApi {
 public:
  HubApi(HubPlace place, Patience patience, std::unique_ptr<HttpClient> client);

  [[nodiscard]] const HubPlace& place() const { return place_; }

  /// GET …/resolve/…: the file's bytes, or nothing. Redirects are followed, the token stays behind
  /// when the host changes; the digest that the hub states for the file is checked.
  Result<std::optional<HubContent>> read(const std::string& revision, std::string_view path);
  /// The commit that a revision is at; empty when the hub does not say.
  Result<std::string> commit_of(const std::string& revision);
  /// GET …/tree/…, all pages. An absent folder has no files.
  Result<std::vector<StoredFile>> list(const std::string& revision, std::string_view folder);

  /// Fills `large` and `known_oid`.
  Status preupload(const std::string& revision, bool create_pr, std::vector<HubFile>& files);
  /// Brings a large file's bytes to where the hub wants them, unless it has them.
  Status upload(const std::string& revision, const HubFile& file);
  /// One attempt. `parent` empty: whatever the revision is at. `removed`: paths that are there.
  Result<CommitAttempt> commit(const std::string& revision, bool create_pr,
                               const std::string& parent, std::string_view summary,
                               const std::vector<HubFile>& files,
                               const std::vector<std::string>& removed = {});

 private:
  HttpRequest request(std::string method, std::string url, std::string_view body = {},
                      std::string content_type = {}) const;
  Result<HttpReply> send(const HttpRequest& request);
  /// A success's body as JSON, else its refusal.
  Result<json::Value> send_for_json(const HttpRequest& request, const RefusalInfo& otherwise);
  Status put_part(const std::string& url, std::string_view bytes, std::string* etag);
  Status put_multipart(const std::string& complete_url, const json::Value& header,
                       uint64_t chunk_size, const HubFile& file);
  /// What a reply that is no success means, and what to do.
  Refusal problem(const HttpReply& reply, const RefusalInfo& otherwise);
  /// What the token may do, as far as the hub says it.
  std::string token_rights();
  [[nodiscard]] std::string api(std::string_view rest) const;
  /// "https://hub/datasets/owner/name"
  [[nodiscard]] std::string repository() const;

  HubPlace place_;
  Patience patience_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace assay::publish
