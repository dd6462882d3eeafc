// Where shards live: a folder, an object store, a dataset hub. One interface; a published path is
// written once.
//
// Errors    STORE-URL, STORE-WRITE, STORE-READ, STORE-DIFFERENT-BYTES.
// Threads   one call at a time.
#pragma once

#include <filesystem>
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

/// The store that a URL names. Refuses STORE-URL.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view url);

}  // namespace assay::publish
