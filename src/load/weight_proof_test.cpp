// Proofs against made-up processes of both platforms, and against a real one.
#include "load/weight_proof.h"

#include <map>

#include "load/campaign_fixture.h"
#include "load/campaign_server.h"

namespace assay::load {
namespace {

class FakeProcesses final : public ProcessWorld {
 public:
  machine::Platform platform_ = machine::Platform::linux_;
  std::map<std::string, std::string> files;               // path -> bytes
  std::map<std::string, std::vector<std::string>> lists;  // folder -> names
  std::map<std::string, std::string> links;
  std::map<std::string, FileFacts> stats;
  std::map<std::string, std::string> digests;
  std::map<std::string, std::string> outputs;  // joined argv -> stdout
  mutable int read = 0;

  [[nodiscard]] machine::Platform platform() const override { return platform_; }
  [[nodiscard]] std::optional<std::string> file(const std::string& path) const override {
    return find(files, path);
  }
  [[nodiscard]] std::optional<std::string> head(const std::string& path,
                                                size_t count) const override {
    const auto bytes = find(files, path);
    return bytes ? std::optional(bytes->substr(0, count)) : std::nullopt;
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const override {
    const auto found = lists.find(folder);
    return found == lists.end() ? std::vector<std::string>() : found->second;
  }
  [[nodiscard]] std::optional<std::string> link(const std::string& path) const override {
    return find(links, path);
  }
  [[nodiscard]] std::optional<FileFacts> facts(const std::string& path) const override {
    const auto found = stats.find(path);
    return found == stats.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] Result<FileDigest> digest(const std::string& path) const override {
    ++read;
    return FileDigest{digests.at(path), 1};
  }
  [[nodiscard]] std::optional<std::string> run(
      const std::vector<std::string>& argv) const override {
    return find(outputs, join(argv, " "));
  }

 private:
  static std::optional<std::string> find(const std::map<std::string, std::string>& map,
                                         const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
};

constexpr char kTcpHeader[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

const std::string kSha(64, 'a');

// Process 70 listens on 8080 (0x1F90) and is the parent of 71, which maps the weights; 40 is a
// shell that started 70. Booted at 1000 s; 70 started at tick 5000, that is at 1050 s.
class WeightProofLinux : public testing::Test {
 protected:
  void SetUp() override {
    world_.files["/proc/net/tcp"] =
        std::string(kTcpHeader) +
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 555 1\n"
        "   1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 556 1\n"
        "   2: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  0 0 557 1\n";
    world_.files["/proc/stat"] = "cpu 1\nbtime 1000\n";
    world_.lists["/proc"] = {"self", "40", "70", "71", "net"};
    world_.files["/proc/40/stat"] = stat(40, 1, 100);
    world_.files["/proc/70/stat"] = stat(70, 40, 5000);
    world_.files["/proc/71/stat"] = stat(71, 70, 5100);
    world_.lists["/proc/70/fd"] = {"0", "3"};
    world_.links["/proc/70/fd/3"] = "socket:[555]";
    world_.files["/proc/70/cmdline"] = std::string("server\0-m\0/models/a.gguf\0", 25);
    world_.links["/proc/70/cwd"] = "/";
    world_.files["/proc/71/maps"] =
        "00400000-00452000 r-xp 00000000 08:02 11 /usr/lib/libengine.so\n"
        "7f00-7f10 r--s 00000000 08:02 22 /models/a.gguf\n"
        "7f20-7f30 rw-p 00000000 00:00 0 [heap]\n";
    add_file("/proc/71/root/models/a.gguf", 22, 1040);
  }
  static std::string stat(int pid, int parent, int start_ticks) {
    // pid (comm) state ppid, then fields 5 to 21, then starttime.
    std::string text = cat(pid, " (a ) b) S ", parent);
    for (int field = 5; field <= 21; ++field) text += " 0";
    return cat(text, " ", start_ticks, " 0 0\n");
  }
  void add_file(const std::string& path, uint64_t inode, int64_t mtime_seconds) {
    world_.stats[path] = {.device = 8,
                          .inode = inode,
                          .size_bytes = 1234,
                          .mtime_ns = mtime_seconds * 1'000'000'000,
                          .regular = true};
    world_.digests[path] = kSha;
  }
  WeightProof prove() {
    DigestCache cache;
    return prove_weights(request_, world_, cache);
  }
  FakeProcesses world_;
  ProofRequest request_{.host = "127.0.0.1",
                        .port = 8080,
                        .requested_model = "m",
                        .responded_model = "m",
                        .now_seconds = 1700000000};
};

TEST_F(WeightProofLinux, FromTheSocketToTheMappedFileOfAChild) {
  const WeightProof proof = prove();
  EXPECT_TRUE(proof.verified) << proof.why;
  EXPECT_EQ(proof.method, "open_files");
  EXPECT_EQ(proof.pid, 70);
  ASSERT_EQ(proof.files.size(), 1u);
  EXPECT_EQ(proof.files[0].path, "/models/a.gguf");
  EXPECT_EQ(proof.files[0].size_bytes, 1234u);
  EXPECT_EQ(proof.files[0].sha256, kSha);
  EXPECT_EQ(proof.command_line_sha256, sha256_hex(world_.files["/proc/70/cmdline"]));
  const json::Value object = provenance_json(proof);
  EXPECT_EQ(object.find("verified_at")->string(), "2023-11-14T22:13:20Z");
  EXPECT_EQ(object.find("checkpoint")->string(), "a.gguf");
}

TEST_F(WeightProofLinux, WeightsThatWereReadAndClosedAreOnTheCommandLine) {
  world_.files.erase("/proc/71/maps");
  add_file("/proc/70/root/models/a.gguf", 22, 1040);
  const WeightProof proof = prove();
  EXPECT_TRUE(proof.verified) << proof.why;
  EXPECT_EQ(proof.method, "process_cmdline");
}

TEST_F(WeightProofLinux, AFolderOnTheCommandLine) {
  world_.files.erase("/proc/71/maps");
  world_.files["/proc/70/cmdline"] = std::string("python\0serve\0--model=weights\0", 29);
  world_.links["/proc/70/cwd"] = "/data";
  world_.lists["/proc/70/root/data/weights"] = {"b.safetensors", "config.json", "a.safetensors"};
  add_file("/proc/70/root/data/weights/a.safetensors", 1, 1);
  add_file("/proc/70/root/data/weights/b.safetensors", 2, 1);
  add_file("/proc/70/root/data/weights/config.json", 3, 1);
  const WeightProof proof = prove();
  EXPECT_TRUE(proof.verified) << proof.why;
  ASSERT_EQ(proof.files.size(), 2u);
  EXPECT_EQ(proof.checkpoint, "a.safetensors");
}

TEST_F(WeightProofLinux, BlobsWithoutAnEndingAreKnownByTheirFirstBytes) {
  world_.files["/proc/71/maps"] = "7f00-7f10 r--s 00000000 08:02 22 /blobs/sha256-11\n";
  world_.files["/proc/71/root/blobs/sha256-11"] = "GGUF\3";
  add_file("/proc/71/root/blobs/sha256-11", 22, 1040);
  EXPECT_TRUE(prove().verified);
  world_.files["/proc/71/root/blobs/sha256-11"] = "ELF";
  EXPECT_FALSE(prove().verified);
}

TEST_F(WeightProofLinux, NotProvenThroughAProxy) {
  world_.files.erase("/proc/71/maps");
  world_.files["/proc/70/cmdline"] = std::string("proxy\0--to\0http://x\0", 20);
  const WeightProof proof = prove();
  EXPECT_FALSE(proof.verified);
  EXPECT_FALSE(proof.mismatch);
  EXPECT_EQ(proof.method, "none");
  EXPECT_NE(proof.why.find("a proxy"), std::string::npos) << proof.why;
}

TEST_F(WeightProofLinux, EachBrokenLinkOfTheChainIsNamed) {
  request_.responded_model = "";
  EXPECT_EQ(prove().why, "the answers name no model");
  request_.responded_model = "other";
  EXPECT_TRUE(prove().mismatch);
  EXPECT_EQ(prove().why, "\"m\" was asked for, \"other\" answered");
  request_.responded_model = "m";

  request_.host = "gpu.example";
  EXPECT_NE(prove().why.find("is not this machine"), std::string::npos);
  request_.host = "localhost";

  request_.port = 9;
  EXPECT_EQ(prove().why, "no process of this machine listens on port 9");
  request_.port = 8081;  // inode 556: nobody's descriptors show it
  EXPECT_NE(prove().why.find("may not be looked into"), std::string::npos);
  request_.port = 8080;

  request_.server_pid = 40;  // the shell started it: its descendant is ours
  EXPECT_TRUE(prove().verified);
  request_.server_pid = 71;
  EXPECT_TRUE(prove().mismatch);
  EXPECT_NE(prove().why.find("not the server that was started"), std::string::npos);
  request_.server_pid.reset();

  request_.checkpoint_sha256 = std::string(64, 'b');
  EXPECT_TRUE(prove().mismatch);
  request_.checkpoint_sha256 = kSha;
  EXPECT_TRUE(prove().verified);
}

TEST_F(WeightProofLinux, FilesThatChangedAreNoProof) {
  add_file("/proc/71/root/models/a.gguf", 23, 1040);  // another inode than the mapped one
  EXPECT_NE(prove().why.find("was replaced"), std::string::npos);
  add_file("/proc/71/root/models/a.gguf", 22, 1053);  // three seconds after the start
  EXPECT_NE(prove().why.find("was written after"), std::string::npos);
  add_file("/proc/71/root/models/a.gguf", 22, 1040);
  world_.files["/proc/71/maps"] = "7f00-7f10 r--s 00000000 08:02 22 /models/a.gguf (deleted)\n";
  EXPECT_NE(prove().why.find("was removed or replaced"), std::string::npos);
  EXPECT_FALSE(prove().verified);
}

TEST_F(WeightProofLinux, TwoUnrelatedListenersAreAmbiguous) {
  world_.files["/proc/net/tcp6"] =
      std::string(kTcpHeader) +
      "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000  0 0 600 1\n";
  world_.lists["/proc/40/fd"] = {"5"};
  world_.links["/proc/40/fd/5"] = "socket:[600]";
  // 40 is 70's ancestor, so 40 counts as the server; a stranger does not.
  EXPECT_EQ(prove().pid, 40);
  world_.lists["/proc"].push_back("90");
  world_.files["/proc/90/stat"] = stat(90, 1, 100);
  world_.lists["/proc/40/fd"].clear();
  world_.lists["/proc/90/fd"] = {"5"};
  world_.links["/proc/90/fd/5"] = "socket:[600]";
  EXPECT_EQ(prove().why, "2 unrelated processes listen on port 8080");
}

TEST(WeightProofMac, ListenersAndOpenFilesFromLsof) {
  FakeProcesses world;
  world.platform_ = machine::Platform::macos;
  world.outputs["lsof -nP -iTCP:8080 -sTCP:LISTEN -Fp"] = "p501\nf12\n";
  world.outputs["ps -ww -o command= -p 501"] = "python -m server --model /m/w.safetensors\n";
  world.outputs["lsof -nP -p 501 -Ftin"] =
      "p501\nftxt\ntREG\ni77\nn/m/w.safetensors\nf3\ntIPv4\nn127.0.0.1:8080\n";
  world.stats["/m/w.safetensors"] = {
      .device = 1, .inode = 77, .size_bytes = 9, .mtime_ns = 1, .regular = true};
  world.digests["/m/w.safetensors"] = kSha;
  ProofRequest request{.host = "127.0.0.1",
                       .port = 8080,
                       .requested_model = "m",
                       .responded_model = "m",
                       .now_seconds = 1};
  DigestCache cache;
  const WeightProof proof = prove_weights(request, world, cache);
  EXPECT_TRUE(proof.verified) << proof.why;
  EXPECT_EQ(proof.pid, 501);
  EXPECT_EQ(proof.method, "open_files");
  EXPECT_EQ(proof.command_line_sha256,
            sha256_hex(std::string_view("python\0-m\0server\0--model\0/m/w.safetensors\0", 42)));
  world.outputs["lsof -nP -iTCP:8080 -sTCP:LISTEN -Fp"] = "p501\np502\n";
  EXPECT_EQ(prove_weights(request, world, cache).why, "2 processes listen on port 8080");
}

class WeightProofReal : public CampaignFixture {};

TEST_F(WeightProofReal, AChildThatMapsAFileAndListens) {
  const auto port = free_port();
  ASSERT_TRUE(port);
  const auto server = ServerProcess::start(
      {.argv = {fake_server(), "--port", cat(*port), "--weights", weights_.string()},
       .environment = {},
       .log = folder_ / "log"});
  ASSERT_TRUE(server) << server.refusal().text();
  ASSERT_TRUE(wait_until_ready(**server, cat("http://127.0.0.1:", *port, "/v1/models"),
                               std::chrono::seconds(60), {}));
  ProofRequest request{.host = "127.0.0.1",
                       .port = *port,
                       .requested_model = "fake",
                       .responded_model = "fake",
                       .server_pid = (*server)->pid(),
                       .now_seconds = 1};
  const auto cache_file = folder_ / "cache" / "digests.json";
  {
    DigestCache cache(cache_file);
    const WeightProof proof = prove_weights(request, this_process_world(), cache);
    EXPECT_TRUE(proof.verified) << proof.why;
    EXPECT_EQ(proof.method, "open_files");
    EXPECT_EQ(proof.pid, (*server)->pid());
    ASSERT_EQ(proof.files.size(), 1u);
    EXPECT_EQ(proof.files[0].path, weights_.string());
    EXPECT_EQ(proof.files[0].sha256, weights_sha_);
    EXPECT_EQ(cache.computed(), 1u);
  }
  {
    DigestCache cache(cache_file);  // as another campaign later: nothing is read again
    EXPECT_TRUE(prove_weights(request, this_process_world(), cache).verified);
    EXPECT_EQ(cache.computed(), 0u);
  }
  ASSERT_TRUE(write_file_atomic(cache_file, "{\"files\":[{\"dev"));  // torn: counts as empty
  DigestCache cache(cache_file);
  EXPECT_TRUE(prove_weights(request, this_process_world(), cache).verified);
  EXPECT_EQ(cache.computed(), 1u);
  // Replaced by a file of the same name: the process still maps the old one.
  ASSERT_TRUE(write_file_atomic(weights_, "GGUF other weights"));
  const WeightProof replaced = prove_weights(request, this_process_world(), cache);
  EXPECT_FALSE(replaced.verified);
  EXPECT_NE(replaced.why.find("replaced"), std::string::npos) << replaced.why;
}

}  // namespace
}  // namespace assay::load
