#include "load/weight_proof.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "base/text.h"

namespace assay::load {

namespace {

// Boot time and start ticks are rounded: a file written this close to the start counts as older.
constexpr int64_t kStartSlackNs = 2'000'000'000;
constexpr size_t kHeadBytes = 9;

std::string base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return out;
}

bool is_local(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]" ||
         host == "0.0.0.0";
}

/// A file that a process holds or names.
struct Held {
  std::string path;     // as the process sees it
  std::string reached;  // where we can read it
  std::optional<uint64_t> inode;
  bool deleted = false;
};

// What the two platforms find out, each its own way.
struct Found {
  std::string why;  // when nothing certain was found
  bool foreign = false;
  int pid = 0;
  std::string command_line;  // arguments ended by NUL
  std::string working_directory;
  std::optional<int64_t> started_ns;  // since the epoch
  std::vector<Held> held;
};

class LinuxProcesses {
 public:
  explicit LinuxProcesses(const ProcessWorld& world) : world_(world) {
    for (const std::string& name : world.names("/proc")) {
      if (const auto pid = parse_int64(name); pid && *pid > 0)
        pids_.push_back(static_cast<int>(*pid));
    }
    std::sort(pids_.begin(), pids_.end());
    for (const int pid : pids_) parents_[pid] = parent_of(pid);
  }

  [[nodiscard]] std::vector<int> holders(uint64_t socket_inode) const {
    std::vector<int> out;
    const std::string wanted = cat("socket:[", socket_inode, "]");
    for (const int pid : pids_) {
      const std::string folder = cat("/proc/", pid, "/fd");
      for (const std::string& fd : world_.names(folder)) {
        if (world_.link(cat(folder, "/", fd)) == wanted) {
          out.push_back(pid);
          break;
        }
      }
    }
    return out;
  }

  [[nodiscard]] bool descends_from(int pid, int ancestor) const {
    for (int step = 0; pid > 0 && step < 1000; ++step) {
      if (pid == ancestor) return true;
      const auto parent = parents_.find(pid);
      if (parent == parents_.end()) return false;
      pid = parent->second;
    }
    return false;
  }

  [[nodiscard]] std::vector<int> family(int root) const {
    std::vector<int> out;
    for (const int pid : pids_) {
      if (descends_from(pid, root)) out.push_back(pid);
    }
    return out;
  }

  [[nodiscard]] std::optional<int64_t> started_ns(int pid) const {
    const auto fields = stat_fields(pid);
    if (fields.size() < 20) return std::nullopt;
    const auto ticks = parse_int64(fields[19]);  // field 22 of stat(5)
    const auto stat = world_.file("/proc/stat");
    if (!ticks || !stat) return std::nullopt;
    for (const std::string_view line : split(*stat, '\n')) {
      if (!line.starts_with("btime ")) continue;
      const auto boot = parse_int64(line.substr(6));
      // USER_HZ is 100 on every architecture that Linux supports today.
      if (boot) return *boot * 1'000'000'000 + *ticks * 10'000'000;
    }
    return std::nullopt;
  }

  void add_held(int pid, std::vector<Held>& out) const {
    const std::string process = cat("/proc/", pid);
    const std::string root = process + "/root";
    std::set<std::string> seen;
    const auto add = [&](std::string path, std::string reached, std::optional<uint64_t> inode) {
      constexpr std::string_view kGone = " (deleted)";
      const bool deleted = path.ends_with(kGone);
      if (deleted) path.resize(path.size() - kGone.size());
      if (!path.starts_with('/') || path.starts_with("/dev/") || path.starts_with("/memfd:") ||
          path.starts_with("/proc/") || !seen.insert(path).second) {
        return;
      }
      out.push_back({std::move(path), std::move(reached), inode, deleted});
    };
    const std::string maps = world_.file(process + "/maps").value_or("");
    for (const std::string_view line : split(maps, '\n')) {
      // address perms offset device inode path
      const auto fields = words(line);
      if (fields.size() < 6 || fields[1].find('x') != std::string_view::npos) continue;
      const auto inode = parse_uint64(fields[4]);
      const auto path_at = static_cast<size_t>(fields[5].data() - line.data());
      const std::string path(line.substr(path_at));
      add(path, root + path, inode);
    }
    for (const std::string& fd : world_.names(process + "/fd")) {
      const std::string place = cat(process, "/fd/", fd);
      if (const auto target = world_.link(place)) add(*target, place, std::nullopt);
    }
  }

 private:
  // The fields of /proc/PID/stat after the command's name, which may hold anything.
  [[nodiscard]] std::vector<std::string_view> stat_fields(int pid) const {
    stat_text_ = world_.file(cat("/proc/", pid, "/stat")).value_or("");
    const size_t end = stat_text_.rfind(')');
    if (end == std::string::npos) return {};
    return words(std::string_view(stat_text_).substr(end + 1));
  }
  [[nodiscard]] int parent_of(int pid) const {
    const auto fields = stat_fields(pid);
    const auto parent = fields.size() > 1 ? parse_int64(fields[1]) : std::nullopt;
    return parent ? static_cast<int>(*parent) : 0;
  }

  const ProcessWorld& world_;
  std::vector<int> pids_;
  std::map<int, int> parents_;
  mutable std::string stat_text_;
};

Found look_on_linux(const ProofRequest& request, const ProcessWorld& world) {
  Found found;
  std::set<uint64_t> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (const uint64_t inode : listening_inodes(world.file(table).value_or(""), request.port))
      inodes.insert(inode);
  }
  if (inodes.empty()) {
    found.why = cat("no process of this machine listens on port ", request.port);
    return found;
  }
  const LinuxProcesses processes(world);
  std::set<int> holders;
  for (const uint64_t inode : inodes) {
    for (const int pid : processes.holders(inode)) holders.insert(pid);
  }
  if (holders.empty()) {
    found.why = cat("the process that listens on port ", request.port,
                    " may not be looked into: run as its user");
    return found;
  }
  // Workers inherit the socket: the one without a parent among the holders is the server.
  std::vector<int> roots;
  for (const int pid : holders) {
    const bool below = std::any_of(holders.begin(), holders.end(), [&](int other) {
      return other != pid && processes.descends_from(pid, other);
    });
    if (!below) roots.push_back(pid);
  }
  if (roots.size() != 1) {
    found.why = cat(roots.size(), " unrelated processes listen on port ", request.port);
    return found;
  }
  found.pid = roots[0];
  if (request.server_pid && !processes.descends_from(found.pid, *request.server_pid)) {
    found.foreign = true;
    found.why = cat("process ", found.pid, " listens on port ", request.port,
                    ", not the server that was started (", *request.server_pid, ")");
    return found;
  }
  found.command_line = world.file(cat("/proc/", found.pid, "/cmdline")).value_or("");
  found.working_directory = world.link(cat("/proc/", found.pid, "/cwd")).value_or("/");
  found.started_ns = processes.started_ns(found.pid);
  for (const int pid : processes.family(found.pid)) processes.add_held(pid, found.held);
  return found;
}

Found look_on_macos(const ProofRequest& request, const ProcessWorld& world) {
  Found found;
  const std::string listening =
      world.run({"lsof", "-nP", cat("-iTCP:", request.port), "-sTCP:LISTEN", "-Fp"}).value_or("");
  std::set<int> pids;
  for (const std::string_view line : split(listening, '\n')) {
    if (!line.starts_with('p')) continue;
    if (const auto pid = parse_int64(line.substr(1))) pids.insert(static_cast<int>(*pid));
  }
  if (pids.size() != 1) {
    found.why = pids.empty() ? cat("no process of this machine listens on port ", request.port)
                             : cat(pids.size(), " processes listen on port ", request.port);
    return found;
  }
  found.pid = *pids.begin();
  if (request.server_pid && *request.server_pid != found.pid) {
    found.foreign = true;
    found.why = cat("process ", found.pid, " listens on port ", request.port,
                    ", not the server that was started (", *request.server_pid, ")");
    return found;
  }
  const std::string command =
      world.run({"ps", "-ww", "-o", "command=", "-p", cat(found.pid)}).value_or("");
  // ps joins the arguments with spaces: paths with spaces are then found among the open files only.
  for (const std::string_view word : words(trim(command))) {
    found.command_line += word;
    found.command_line += '\0';
  }
  found.working_directory = "/";
  const std::string files = world.run({"lsof", "-nP", "-p", cat(found.pid), "-Ftin"}).value_or("");
  std::string_view type;
  std::optional<uint64_t> inode;
  std::set<std::string> seen;
  for (const std::string_view line : split(files, '\n')) {
    if (line.empty()) continue;
    if (line[0] == 'f') {
      type = {};
      inode.reset();
    }  // a new descriptor (txt: mapped)
    if (line[0] == 't') type = line.substr(1);
    if (line[0] == 'i') inode = parse_uint64(line.substr(1));
    if (line[0] == 'n' && type == "REG" && line.size() > 2 && line[1] == '/') {
      const std::string path(line.substr(1));
      if (seen.insert(path).second) found.held.push_back({path, path, inode, false});
    }
  }
  return found;
}

// Paths on the command line: weight files, or folders that hold some.
std::vector<Held> named_on_command_line(const Found& found, const ProcessWorld& world) {
  std::vector<Held> out;
  const std::string root =
      world.platform() == machine::Platform::linux_ ? cat("/proc/", found.pid, "/root") : "";
  const auto add = [&](const std::string& path) {
    const std::string reached = root + path;
    const auto facts = world.facts(reached);
    if (!facts || !facts->regular) return;
    if (looks_like_weights(path, world.head(reached, kHeadBytes).value_or("")))
      out.push_back({path, reached, facts->inode, false});
  };
  std::string_view arguments = found.command_line;
  if (!arguments.empty() && arguments.back() == '\0') arguments.remove_suffix(1);
  const auto list = split(arguments, '\0');
  for (size_t i = 1; i < list.size(); ++i) {
    std::string_view text = list[i];
    if (text.starts_with('-')) {
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) continue;
      text.remove_prefix(equals + 1);
    }
    if (text.empty()) continue;
    const std::string path =
        text.starts_with('/') ? std::string(text) : cat(found.working_directory, "/", text);
    auto names = world.names(root + path);
    if (names.empty()) {
      add(path);
    } else {
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) add(cat(path, "/", name));
    }
  }
  return out;
}

// Digests of the weight files among `held`. Sets proof.why at the first that cannot be relied on.
void add_weights(const std::vector<Held>& held, const Found& found, const ProcessWorld& world,
                 DigestCache& cache, WeightProof& proof) {
  std::set<std::string> seen;
  for (const Held& file : held) {
    const auto facts = world.facts(file.reached);
    const bool named = looks_like_weights(file.path, "");
    if (file.deleted && named) {
      proof.why = cat("`", base_name(file.path), "` was removed or replaced since it was opened");
      continue;
    }
    if (!facts || !facts->regular) continue;
    if (!named && !looks_like_weights(file.path, world.head(file.reached, kHeadBytes).value_or("")))
      continue;
    if (!seen.insert(file.path).second) continue;
    if (file.inode && *file.inode != facts->inode) {
      proof.why = cat("`", base_name(file.path), "` was replaced since the process mapped it");
      continue;
    }
    if (found.started_ns && facts->mtime_ns > *found.started_ns + kStartSlackNs) {
      proof.why = cat("`", base_name(file.path), "` was written after the process began");
      continue;
    }
    const auto sha = cache.sha256(file.reached, *facts, world);
    if (!sha) {
      proof.why = sha.refusal().text();
      continue;
    }
    proof.files.push_back({file.path, facts->size_bytes, *sha});
  }
}

}  // namespace

std::vector<uint64_t> listening_inodes(std::string_view table, int port) {
  std::vector<uint64_t> out;
  for (const std::string_view line : split(table, '\n')) {
    // sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …
    const auto fields = words(line);
    if (fields.size() < 10 || fields[3] != "0A") continue;
    const size_t colon = fields[1].rfind(':');
    if (colon == std::string_view::npos) continue;
    int local = 0;
    const std::string_view hex = fields[1].substr(colon + 1);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), local, 16);
    if (error != std::errc() || end != hex.data() + hex.size() || local != port) continue;
    if (const auto inode = parse_uint64(fields[9]); inode && *inode != 0) out.push_back(*inode);
  }
  return out;
}

bool looks_like_weights(std::string_view path, std::string_view head) {
  for (const char* ending : {".gguf", ".safetensors", ".ggml", ".npz", ".pt", ".pth", ".onnx"}) {
    if (path.ends_with(ending)) return true;
  }
  if (head.starts_with("GGUF")) return true;
  // safetensors: eight bytes of header length (below 100 MB), then its JSON.
  return head.size() >= 9 && head[8] == '{' && head[4] == '\0' && head[5] == '\0' &&
         head[6] == '\0' && head[7] == '\0' && static_cast<unsigned char>(head[3]) < 6;
}

WeightProof prove_weights(const ProofRequest& request, const ProcessWorld& world,
                          DigestCache& cache) {
  WeightProof proof;
  proof.responded_model = request.responded_model;
  proof.verified_at = format_utc(request.now_seconds);
  // The models' names do not depend on what can be looked into.
  if (!request.responded_model.empty() && request.responded_model != request.requested_model) {
    proof.mismatch = true;
    proof.why = cat("\"", request.requested_model, "\" was asked for, \"", request.responded_model,
                    "\" answered");
  }
  if (!is_local(request.host)) {
    if (proof.why.empty())
      proof.why = cat("`", request.host, "` is not this machine: its processes cannot be read");
    return proof;
  }
  const Found found = world.platform() == machine::Platform::macos ? look_on_macos(request, world)
                                                                   : look_on_linux(request, world);
  proof.pid = found.pid;
  if (!found.why.empty()) {
    proof.mismatch = proof.mismatch || found.foreign;
    if (proof.why.empty()) proof.why = found.why;
    return proof;
  }
  if (!found.command_line.empty()) proof.command_line_sha256 = sha256_hex(found.command_line);

  std::string doubt;
  std::swap(doubt, proof.why);
  add_weights(found.held, found, world, cache, proof);
  if (!proof.files.empty()) {
    proof.method = "open_files";
  } else if (proof.why.empty()) {
    add_weights(named_on_command_line(found, world), found, world, cache, proof);
    if (!proof.files.empty()) proof.method = "process_cmdline";
  }
  if (!proof.files.empty()) proof.checkpoint = base_name(proof.files[0].path);
  if (!doubt.empty()) proof.why = doubt;
  if (proof.why.empty() && proof.files.empty()) {
    proof.why = cat("process ", found.pid,
                    " holds no weight file and names none: a proxy, or "
                    "weights that cannot be seen");
  }
  if (proof.why.empty() && found.command_line.empty())
    proof.why = cat("the command line of process ", found.pid, " cannot be read");
  if (proof.why.empty() && request.responded_model.empty()) proof.why = "the answers name no model";
  if (request.checkpoint_sha256 && !proof.files.empty()) {
    const bool there = std::any_of(proof.files.begin(), proof.files.end(), [&](const auto& file) {
      return file.sha256 == *request.checkpoint_sha256;
    });
    if (!there) {
      proof.mismatch = true;
      if (proof.why.empty())
        proof.why = cat("`", proof.checkpoint, "` has SHA-256 ", proof.files[0].sha256,
                        ", the manifest says ", *request.checkpoint_sha256);
    }
  }
  proof.verified = proof.why.empty();
  return proof;
}

json::Value provenance_json(const WeightProof& proof) {
  json::Value out = json::Value::object({{"method", proof.method}, {"verified", proof.verified}});
  if (proof.pid != 0) out.set("pid", proof.pid);
  if (!proof.checkpoint.empty()) out.set("checkpoint", proof.checkpoint);
  if (!proof.command_line_sha256.empty()) out.set("command_line_sha256", proof.command_line_sha256);
  if (!proof.files.empty()) {
    std::vector<json::Value> files;
    for (const WeightFile& file : proof.files) {
      files.push_back(json::Value::object(
          {{"name", base_name(file.path)}, {"bytes", file.size_bytes}, {"sha256", file.sha256}}));
    }
    out.set("files", json::Value::array(std::move(files)));
  }
  if (!proof.responded_model.empty()) out.set("responded_model", proof.responded_model);
  if (!proof.verified_at.empty()) out.set("verified_at", proof.verified_at);
  return out;
}

}  // namespace assay::load
