#include "scoring/digests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace assay::scoring {
namespace {

// The verified vector: the fold hashes absolute paths, so it is read from a map.
std::map<std::string, std::string> harness_files() {
  const std::map<std::string, std::string> files{{"Package.swift", "package-swift-bytes\n"},
                                                 {"Sources/A.swift", "sources-a\n"},
                                                 {"Sources/nested/B.swift", "sources-nested-b\n"},
                                                 {"Tests/T.swift", "tests-t\n"},
                                                 {"benchmark.json", "{\"k\":1}\n"},
                                                 {"benchmark.sh", "benchmark-sh\n"},
                                                 {"setup.sh", "setup-sh\n"},
                                                 {"tools/t.sh", "tools-t\n"},
                                                 {"tools/sub/u.sh", "tools-sub-u\n"},
                                                 {"README.md", "readme\n"},
                                                 {"TASK.md", "task\n"}};
  std::map<std::string, std::string> out;
  for (const auto& [path, bytes] : files) out["/private/tmp/benchd-hh-vector-v1/" + path] = bytes;
  return out;
}
std::string fold(const std::map<std::string, std::string>& files, std::vector<std::string> paths) {
  return fold_harness(std::move(paths), [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Harness, VerifiedVector) {
  const auto files = harness_files();
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : files) paths.push_back(path);
  constexpr std::string_view kExpected =
      "edd0ac485d9e684770dd5866183bf4fee0166c25c73d989f240ed5f591fdbcc4";
  EXPECT_EQ(fold(files, paths), kExpected);
  std::reverse(paths.begin(), paths.end());
  EXPECT_EQ(fold(files, paths), kExpected);  // order does not matter
  // A file that cannot be read leaves neither its path nor bytes.
  paths.push_back("/private/tmp/benchd-hh-vector-v1/Tests/unreadable.swift");
  EXPECT_EQ(fold(files, paths), kExpected);
}

TEST(Harness, EveryByteCounts) {
  auto files = harness_files();
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : files) paths.push_back(path);
  const std::string before = fold(files, paths);
  files.begin()->second += "x";
  EXPECT_NE(fold(files, paths), before);
}

TEST(Weights, WorkedTree) {
  // {config.json "{}", model.safetensors.index.json "{}", sub/a.bin "abc", sub/.gitkeep "", and two
  // ignored root entries}: 2 + 2 + 3 + 0 bytes in 4 files.
  const auto file = [](std::string key, std::string_view bytes) {
    return WeightsFile{std::move(key), sha256(bytes), bytes.size()};
  };
  const WeightsDigest digest =
      fold_weights({file("sub/a.bin", "abc"), file(".benchmark-source.sha256", "x"),
                    file("config.json", "{}"), file("sub/.gitkeep", ""),
                    file("model.safetensors.index.json", "{}"), file(".gitkeep", "y")});
  EXPECT_EQ(to_text(digest),
            "6a5c7d9ec368be5783396c116e030808e75d5318a9923e395abecb75d026f60f:7:4");
  EXPECT_EQ(*parse_weights_digest(to_text(digest)), digest);
}

TEST(Weights, DigestTextIsStrict) {
  const std::string hex(64, 'a');
  EXPECT_TRUE(parse_weights_digest(hex + ":0:0"));
  for (const std::string& text :
       {std::string(), hex, hex + ":1", hex + ":1:2:3", hex + ":-1:2", hex + ":1:+2",
        hex + ":1:", hex + ":1:2 ", hex + ":99999999999999999999:1", std::string(64, 'A') + ":1:2",
        std::string(63, 'a') + ":1:2"}) {
    const auto parsed = parse_weights_digest(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.refusal().code, "WEIGHTS-DIGEST-TEXT-INVALID");
  }
}

TEST(Weights, AFileStandsForItsShards) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(*weights_file_set("model.gguf"), Names{"model.gguf"});
  EXPECT_EQ(*weights_file_set("m-00002-of-00003.gguf"),
            (Names{"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}));
  EXPECT_EQ(*weights_file_set("m-00001-of-00001.gguf"), Names{"m-00001-of-00001.gguf"});
  // Not the shape of a shard: an ordinary name.
  for (const char* name : {"m-0001-of-0003.gguf", "m-00001-of-00003.bin", "m_00001-of-00003.gguf",
                           "-00001-of-00003.gguf", "m-0000a-of-00003.gguf"}) {
    EXPECT_EQ(*weights_file_set(name), Names{name});
  }
  for (const char* name :
       {"m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-00000-of-00000.gguf"}) {
    EXPECT_EQ(weights_file_set(name).refusal().code, "WEIGHTS-SHARD-NAME-INVALID");
  }
}

}  // namespace
}  // namespace assay::scoring
