// Where shards live: a folder, an object store, a dataset hub. One interface; a published path is
// written once.
//
// Errors    STORE-URL, STORE-WRITE, STORE-READ, STORE-DIFFERENT-BYTES; the stores behind a server
//           also STORE-UNREACHABLE, STORE-BUSY, STORE-REPLY, STORE-DAMAGED, STORE-NOT-FOUND,
//           STORE-CREDENTIALS-MISSING, STORE-CREDENTIALS-REFUSED, STORE-REGION, STORE-INSECURE,
//           STORE-NOT-CONDITIONAL, STORE-NOT-BUILT.
// Threads   one call at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::publish {

enum class PutOutcome { created, already_there };

struct StoredFile {
  std::string path;  // "data/run-….parquet"
  uint64_t size_bytes = 0;
};

struct NewFile {
  std::string_view path;
  std::string_view bytes;
};
/// A file's next content, which counts only while it still has the content `expected`.
struct Replacement {
  std::string_view path;
  std::optional<std::string> expected{};
  std::string bytes{};
};
struct Stored {
  PutOutcome outcome = PutOutcome::created;
  bool replaced = true;  // false: somebody else changed the replaced file; read it and try again
  std::string remark{};  // what a person should know beside it: the address of a pull request
};

class Store {
 public:
  virtual ~Store() = default;

  /// Creates `path` with these bytes. The same bytes already there: already_there. Other bytes:
  /// STORE-DIFFERENT-BYTES, and the store is unchanged.
  virtual Result<PutOutcome> put_once(std::string_view path, std::string_view bytes) = 0;

  /// Replaces `path` provided it still has the content `expected` (nothing = must not exist). False
  /// when somebody else changed it meanwhile: read again and try again.
  virtual Result<bool> replace(std::string_view path, const std::optional<std::string>& expected,
                               std::string_view bytes) = 0;

  /// put_once and replace together, under one description. A store that can does both in one step
  /// (a hub: one commit) and with `replaced` false has stored neither; the others put the file
  /// first, so that what names it never comes before it.
  virtual Result<Stored> put_and_replace(const NewFile& file,
                                         const std::optional<Replacement>& replacement,
                                         std::string_view description);

  /// The bytes, or nothing when there is no such file.
  virtual Result<std::optional<std::string>> get(std::string_view path) = 0;

  /// Regular files under a folder, sorted by path; an absent folder has none. Symbolic links are
  /// not followed and not listed.
  virtual Result<std::vector<StoredFile>> list(std::string_view folder) = 0;

  /// "file:///srv/results"
  [[nodiscard]] virtual std::string url() const = 0;
};

/// True for a relative path of plain names: no empty part, no "." or "..", no backslash, no control
/// character.
[[nodiscard]] bool is_plain_path(std::string_view path);

/// A store in a folder, which need not exist yet. Files are created whole (written under another
/// name, flushed, linked into place) and are read-only afterwards.
[[nodiscard]] std::unique_ptr<Store> open_file_store(std::filesystem::path folder);

/// What a store behind a server needs from outside. Defaults: the process's own.
struct StoreOptions {
  /// Publishing: missing credentials are refused before any request. Reading goes without.
  bool for_writing = false;
  /// hf:// only: a pull request instead of a commit on the revision.
  bool create_pr = false;
  /// hf:// only: instead of the token of the environment.
  std::optional<std::string> token{};
  std::function<std::optional<std::string>(const std::string& name)> environment{};
  /// How to wait before another try.
  std::function<void(std::chrono::milliseconds)> sleep{};
  /// Hears why there is a wait. Never a secret.
  std::function<void(std::string_view)> say{};
};

/// The store that a URL names: file://DIR, s3://BUCKET/PREFIX, hf://datasets/OWNER/NAME[@REVISION].
/// Opens no connection. Refuses STORE-URL, STORE-CREDENTIALS-MISSING, STORE-INSECURE.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view url,
                                                        const StoreOptions& options = {});

}  // namespace assay::publish
