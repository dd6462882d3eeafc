#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/json_document.h"
#include "base/refusals.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay {
namespace {

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "assay-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(FilesTest, WritesThenReadsTheSameBytes) {
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomic(folder_ / "new" / "x", bytes));
  const auto read = read_file(folder_ / "new" / "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes);
  const auto digest = digest_file(folder_ / "new" / "x");
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->sha256, sha256_hex(bytes));
  EXPECT_EQ(digest->size_bytes, 4u);
}

TEST_F(FilesTest, RefusesWhatCannotBeRead) {
  EXPECT_EQ(read_file(folder_ / "absent").refusal().code, "FILE-UNREADABLE");
  EXPECT_EQ(read_file(folder_).refusal().code, "FILE-UNREADABLE");
  EXPECT_EQ(digest_file(folder_ / "absent").refusal().code, "FILE-UNREADABLE");
  ASSERT_TRUE(write_file_atomic(folder_ / "x", "12345"));
  EXPECT_EQ(read_file(folder_ / "x", 4).refusal().code, "FILE-TOO-LARGE");
  EXPECT_TRUE(read_file(folder_ / "x", 5));
}

TEST_F(FilesTest, ADigestCanBeStopped) {
  ASSERT_TRUE(write_file_atomic(folder_ / "x", std::string(3 << 20, 'x')));
  int asked = 0;
  const auto stop_at_second = [&asked]() -> Status {
    if (++asked < 2) return {};
    return Refusal(kFileUnreadable, "stopped");
  };
  const auto digest = digest_file(folder_ / "x", stop_at_second);
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.refusal().detail, "stopped");
  EXPECT_EQ(asked, 2);
}

// A file size limit stands in for a full disk: write(2) fails part-way in both.
TEST_F(FilesTest, AFailedWriteLeavesTheOldFileAndNoOther) {
  ASSERT_TRUE(write_file_atomic(folder_ / "x", "old"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file_atomic(folder_ / "x", std::string(100000, 'n'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.refusal().code, "FILE-NOT-WRITTEN");
  EXPECT_EQ(*read_file(folder_ / "x"), "old");
  EXPECT_EQ(entries(), 1u);
}

// The second of three files does not fit: the first must not appear under its name either.
TEST_F(FilesTest, FilesThatBelongTogetherAppearAllOrNone) {
  ASSERT_TRUE(write_file_atomic(folder_ / "a", "old"));
  const FileContent files[] = {
      {folder_ / "a", "new"}, {folder_ / "b", std::string(100000, 'n')}, {folder_ / "c", "new"}};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_files_together(files);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.refusal().code, "FILE-NOT-WRITTEN");
  EXPECT_EQ(*read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1u);

  ASSERT_TRUE(write_files_together(files));
  EXPECT_EQ(*read_file(folder_ / "a"), "new");
  EXPECT_EQ(entries(), 3u);
}

TEST_F(FilesTest, RefusesToWriteWhereAFileStandsForAFolder) {
  ASSERT_TRUE(write_file_atomic(folder_ / "x", "old"));
  EXPECT_EQ(write_file_atomic(folder_ / "x" / "y", "new").refusal().code, "FILE-NOT-WRITTEN");
}

TEST_F(FilesTest, NeverReplacesWhatIsNoFile) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "directory");
  std::filesystem::create_symlink(pipe, folder_ / "link");
  for (const char* name : {"pipe", "directory", "link"})
    EXPECT_EQ(write_file_atomic(folder_ / name, "new").refusal().code, "FILE-NOT-WRITTEN") << name;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(entries(), 3u);
}

// Whoever waits here waits for ever: nobody ever writes to the pipe.
TEST_F(FilesTest, ReadsNoPipeThatNobodyWritesTo) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, folder_ / "link");
  for (const char* name : {"pipe", "link"}) {
    for (const Refusal& refusal :
         {read_file(folder_ / name).refusal(), digest_file(folder_ / name).refusal(),
          json::Document::read(folder_ / name, 100).refusal()}) {
      EXPECT_EQ(refusal.code, "FILE-UNREADABLE");
      EXPECT_NE(refusal.detail.find("a pipe, expected a regular file"), std::string::npos)
          << refusal.detail;
    }
  }
  EXPECT_NE(read_file("/dev/null").refusal().detail.find("a device"), std::string::npos);
}

TEST_F(FilesTest, ReadsAPipeThatWasGivenOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  const auto text = read_file(cat("/dev/fd/", ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(text) << text.refusal().text();
  EXPECT_EQ(*text, "text");
}

}  // namespace
}  // namespace assay
