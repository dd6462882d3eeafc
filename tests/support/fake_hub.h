// A dataset hub for tests: preupload, large-file batch, storage (on a port of its own, which must
// never see the token), verify, commits with parents, pull requests, tree, resolve, whoami. Faults
// are put in by the test.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/loopback_server.h"

namespace assay::testing_support {

struct HubRules {
  std::string kind = "datasets";  // or spaces
  std::string dataset = "acme/results";
  std::string token = "hf_secretTokenOfTheTest";
  std::string role = "write";  // read: writing is answered 403
  size_t chunk_bytes = 0;      // 0: basic uploads; else multipart in chunks of this size
  bool lose_etags = false;     // the storage answers parts without ETag
  bool damage = false;         // the storage flips a bit of what it gets
  size_t tree_page = 1000;
  bool tells_commit = true;   // X-Repo-Commit and /revision/
  bool ignores_data = false;  // .gitignore covers data/
};

class FakeHub {
 public:
  struct File {
    std::string bytes;
    bool large = false;
  };
  struct Commit {
    std::string oid, parent, summary;
    std::map<std::string, File> files;  // everything at this commit
    std::vector<std::string> changed;
  };

  explicit FakeHub(HubRules rules = {});

  HubRules rules;
  /// Asked before each request to the hub; see FakeObjectStore.
  struct Intervention {
    std::optional<WireReply> reply{};
    bool acted = false;
  };
  std::function<Intervention(const WireRequest&)> intervene{};

  [[nodiscard]] LoopbackServer& server() { return server_; }
  [[nodiscard]] LoopbackServer& storage() { return storage_; }
  [[nodiscard]] const std::vector<Commit>& commits(const std::string& revision = "main");
  [[nodiscard]] const std::map<std::string, File>& files(const std::string& revision = "main");
  /// Somebody else's commit.
  void commit_from_elsewhere(const std::string& path, const std::string& bytes, bool large = false);

 private:
  WireReply handle(const WireRequest& request);
  WireReply act(const WireRequest& request);
  WireReply preupload(const WireRequest& request, const std::string& revision);
  WireReply batch(const WireRequest& request);
  WireReply verify(const WireRequest& request) const;
  WireReply commit(const WireRequest& request, std::string revision);
  WireReply tree(const WireRequest& request, const std::string& revision,
                 const std::string& folder);
  WireReply resolve(const std::string& revision, const std::string& path);
  WireReply store(const WireRequest& request);
  void add(const std::string& revision, Commit commit);
  Commit* at(const std::string& revision);

  std::map<std::string, std::vector<Commit>> revisions_{};  // "main", "refs/pr/1"
  std::map<std::string, std::string> large_files_{};        // by SHA-256
  std::map<std::string, std::string> parts_{};              // "sha256/number"
  int pull_requests_ = 0;
  LoopbackServer storage_;
  LoopbackServer server_;
};

}  // namespace assay::testing_support
