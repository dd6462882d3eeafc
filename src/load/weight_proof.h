// Which weights does the process that answers on a port really hold? Read from that process, never
// from what it says about itself.
//
// In:     the endpoint's port, the model asked for, the model that the answers named.
// Out:    WeightProof: pid, command line digest, weight files with sizes and SHA-256.
// How     Linux: /proc/net/tcp{,6} gives the listening socket's inode, /proc/*/fd its process;
//         /proc/PID/{maps,fd} of it and its descendants the files it holds. A server that reads its
//         weights and closes them is proven by the paths on its command line (process_cmdline).
//         macOS: lsof and ps give the same facts.
// Proven  only when all of this holds: one local process listens there (the one that was started,
//         if one was), its command line is readable, it holds at least one weight file, none of
//         them was removed, replaced or written since the process began, and the answers named the
//         model that was asked for. A proxy holds no weights, so nothing is proven through one.
// Cost    first time one pass over the weight files; then a look-up by device, inode, mtime, size.
// Threads one proof at a time per DigestCache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "machine/detect.h"

namespace assay::load {

struct FileFacts {
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t mtime_ns = 0;  // since the epoch
  bool regular = false;
};

/// The part of the outside that a proof looks at.
class ProcessWorld {
 public:
  virtual ~ProcessWorld() = default;
  [[nodiscard]] virtual machine::Platform platform() const = 0;
  /// A small file's bytes (procfs), or nothing.
  [[nodiscard]] virtual std::optional<std::string> file(const std::string& path) const = 0;
  /// The first `count` bytes of a file, fewer when it is shorter; nothing when unreadable.
  [[nodiscard]] virtual std::optional<std::string> head(const std::string& path,
                                                        size_t count) const = 0;
  /// Names in a folder, without "." and ".."; empty when unreadable.
  [[nodiscard]] virtual std::vector<std::string> names(const std::string& folder) const = 0;
  /// What a symbolic link says.
  [[nodiscard]] virtual std::optional<std::string> link(const std::string& path) const = 0;
  /// Follows links.
  [[nodiscard]] virtual std::optional<FileFacts> facts(const std::string& path) const = 0;
  [[nodiscard]] virtual Result<FileDigest> digest(const std::string& path) const = 0;
  /// Standard output of a command, or nothing.
  [[nodiscard]] virtual std::optional<std::string> run(
      const std::vector<std::string>& argv) const = 0;
};
[[nodiscard]] const ProcessWorld& this_process_world();

/// Digests of files that did not change since. Kept in a JSON file; a torn or foreign one counts as
/// empty. With an empty path nothing is kept beyond the object's life.
class DigestCache {
 public:
  explicit DigestCache(std::filesystem::path path = {});
  [[nodiscard]] Result<std::string> sha256(const std::string& path, const FileFacts& facts,
                                           const ProcessWorld& world);
  [[nodiscard]] size_t computed() const { return computed_; }  // files really read

 private:
  using Key = std::tuple<uint64_t, uint64_t, int64_t, uint64_t>;
  std::filesystem::path path_;
  std::map<Key, std::string> known_;
  size_t computed_ = 0;
};
/// ${XDG_CACHE_HOME:-~/.cache}/assay/weight_digests.json; empty without a home.
[[nodiscard]] std::filesystem::path default_digest_cache();

struct ProofRequest {
  std::string host;  // of the endpoint; only this machine's own addresses can be looked into
  int port = 0;
  std::string requested_model;
  std::string responded_model{};    // "" when the answers named none
  std::optional<int> server_pid{};  // the server that was started for the measurement
  std::optional<std::string> checkpoint_sha256{};  // one of the files must have this digest
  int64_t now_seconds = 0;                         // for verified_at
};

struct WeightFile {
  std::string path;  // as the process sees it
  uint64_t size_bytes = 0;
  std::string sha256;
};

struct WeightProof {
  std::string method = "none";  // open_files | process_cmdline | none
  bool verified = false;
  bool mismatch = false;  // something else than what was asked for was found: no mere doubt
  std::string why;        // why it is not verified; empty when it is
  int pid = 0;
  std::string checkpoint;  // base name of the first weight file
  std::string command_line_sha256;
  std::vector<WeightFile> files;
  std::string responded_model{};
  std::string verified_at;
};

[[nodiscard]] WeightProof prove_weights(const ProofRequest& request, const ProcessWorld& world,
                                        DigestCache& cache);

/// The record's `provenance` object (file names without their folders).
[[nodiscard]] json::Value provenance_json(const WeightProof& proof);

// Parts, public for tests.

/// Inodes of the sockets that listen on `port` in the text of /proc/net/tcp or tcp6.
[[nodiscard]] std::vector<uint64_t> listening_inodes(std::string_view table, int port);
/// True for the names and first bytes that weight files have: .gguf, .safetensors …; GGUF magic,
/// a safetensors header.
[[nodiscard]] bool looks_like_weights(std::string_view path, std::string_view head);

}  // namespace assay::load
