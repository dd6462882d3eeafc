#include "benchd/file_digests.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/text.h"

namespace assay::benchd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class FileDigestsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-digests-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file(std::string_view name, std::string_view bytes) {
    const fs::path path = folder_ / name;
    EXPECT_TRUE(write_file_atomic(path, bytes));
    return path;
  }
  fs::path folder_;
};

// The worked line: the tag is the head of the SHA-256 of the payload, computed with sha256sum.
TEST(DigestLine, WorkedExample) {
  const FileFacts facts{66306, 1234, 1700000000, 5, 4096};
  EXPECT_EQ(write_digest_line(facts, kAbc),
            cat("v1 66306 1234 1700000000 5 4096 ", kAbc, " cc5dc25de98fbe5e"));
  const auto read = read_digest_line(write_digest_line(facts, kAbc));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, facts);
  EXPECT_EQ(read->second, kAbc);
}

TEST(DigestLine, ADamagedLineIsDropped) {
  const std::string good = write_digest_line({66306, 1234, 1700000000, 5, 4096}, kAbc);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '7' ? '8' : '7';
    EXPECT_FALSE(read_digest_line(bad)) << bad;
  }
  EXPECT_FALSE(read_digest_line(""));
  EXPECT_FALSE(read_digest_line(good + " "));
  EXPECT_FALSE(read_digest_line(good.substr(0, good.size() - 1)));
}

TEST_F(FileDigestsTest, RemembersAcrossProcessesThroughTheStore) {
  const fs::path weights = file("a.bin", "abc");
  const fs::path store = folder_ / "cache" / "digests";
  {
    FileDigests digests(store);
    const auto digest = digests.digest(weights);
    ASSERT_TRUE(digest);
    EXPECT_EQ(digest->sha256, kAbc);
    EXPECT_EQ(digest->size_bytes, 3U);
    digests.save();
  }
  const auto bytes = read_file(store);
  ASSERT_TRUE(bytes);
  const auto line = read_digest_line(trim(*bytes));
  ASSERT_TRUE(line);
  // A line that lies, with a correct tag, shows that the store is what is read: the facts still
  // agree.
  const std::string lie = sha256_hex("lie");
  ASSERT_TRUE(write_file_atomic(store, write_digest_line(line->first, lie) + "\n"));
  FileDigests again(store);
  EXPECT_EQ(again.digest(weights)->sha256, lie);
}

TEST_F(FileDigestsTest, AChangedFileIsReadAgain) {
  const fs::path weights = file("a.bin", "abc");
  FileDigests digests;
  ASSERT_TRUE(digests.digest(weights));
  file("a.bin", "abd");
  EXPECT_EQ(digests.digest(weights)->sha256, sha256_hex("abd"));
}

TEST_F(FileDigestsTest, DamageInTheStoreChangesNothing) {
  const fs::path weights = file("a.bin", "abc");
  const fs::path store = file("digests", "v1 garbage\n\xff\xfe\nv1 1 2 3\n");
  FileDigests digests(store);
  EXPECT_EQ(digests.digest(weights)->sha256, kAbc);
}

TEST_F(FileDigestsTest, AStoreOverItsLimitIsStartedAnew) {
  const fs::path weights = file("a.bin", "abc");
  const fs::path store = file("digests", std::string((8 << 20) + 1, 'x'));
  FileDigests digests(store);
  EXPECT_EQ(digests.digest(weights)->sha256, kAbc);
  digests.save();
  EXPECT_LT(fs::file_size(store), 1000U);
}

TEST_F(FileDigestsTest, AMissingFileIsRefused) {
  FileDigests digests;
  const auto digest = digests.digest(folder_ / "nothing");
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.refusal().code, "FILE-UNREADABLE");
}

}  // namespace
}  // namespace assay::benchd
