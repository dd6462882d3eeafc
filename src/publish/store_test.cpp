#include "publish/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace assay::publish {
namespace {

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "assay-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    store_ = open_file_store(folder_ / "results");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(FileStoreTest, WritesOnceAndNeverChanges) {
  auto first = store_->put_once("data/run-a.parquet", "bytes");
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, PutOutcome::created);
  auto again = store_->put_once("data/run-a.parquet", "bytes");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, PutOutcome::already_there);
  EXPECT_EQ(store_->put_once("data/run-a.parquet", "other").refusal().code,
            "STORE-DIFFERENT-BYTES");
  EXPECT_EQ(**store_->get("data/run-a.parquet"), "bytes");
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "results/data/run-a.parquet").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0444u);
  EXPECT_EQ(store_->list("data")->size(), 1u);  // nothing half-written beside it
}

TEST_F(FileStoreTest, AbsentIsNotAFault) {
  EXPECT_EQ(*store_->get("data/x"), std::nullopt);
  EXPECT_TRUE(store_->list("data")->empty());
}

TEST_F(FileStoreTest, RefusesPathsThatLeaveTheFolder) {
  for (const char* path :
       {"../x", "data/../../x", "/etc/passwd", "", "data//x", "./x", "data\\x", "a\nb"}) {
    EXPECT_EQ(store_->put_once(path, "b").refusal().code, "STORE-URL") << path;
    EXPECT_EQ(store_->get(path).refusal().code, "STORE-URL") << path;
  }
}

TEST_F(FileStoreTest, DoesNotFollowSymbolicLinks) {
  std::ofstream(folder_ / "secret") << "s";
  ASSERT_TRUE(store_->put_once("data/run-a.parquet", "bytes"));
  std::filesystem::create_symlink(folder_ / "secret", folder_ / "results/data/run-link.parquet");
  EXPECT_EQ(store_->get("data/run-link.parquet").refusal().code, "STORE-READ");
  EXPECT_EQ(store_->list("data")->size(), 1u);
  EXPECT_FALSE(store_->put_once("data/run-link.parquet", "s"));
}

TEST_F(FileStoreTest, DoesNotFollowLinkedFolders) {
  std::filesystem::create_directories(folder_ / "results");
  std::filesystem::create_directories(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere/run-a.parquet") << "bytes";
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", folder_ / "results/data");
  EXPECT_EQ(store_->put_once("data/run-b.parquet", "b").refusal().code, "STORE-URL");
  EXPECT_EQ(store_->replace("data/i.json", std::nullopt, "b").refusal().code, "STORE-URL");
  EXPECT_EQ(store_->get("data/run-a.parquet").refusal().code, "STORE-URL");
  EXPECT_EQ(store_->list("data").refusal().code, "STORE-URL");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere/run-b.parquet"));
}

TEST_F(FileStoreTest, ReplaceNeedsTheExpectedContent) {
  EXPECT_TRUE(*store_->replace("metadata/i.json", std::nullopt, "1"));
  EXPECT_FALSE(*store_->replace("metadata/i.json", std::nullopt, "2"));
  EXPECT_FALSE(*store_->replace("metadata/i.json", "0", "2"));
  EXPECT_TRUE(*store_->replace("metadata/i.json", "1", "2"));
  EXPECT_EQ(**store_->get("metadata/i.json"), "2");
}

TEST_F(FileStoreTest, TwoWritersOneWinnerSameAnswer) {
  std::vector<std::thread> threads;
  std::atomic<int> created{0}, already{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto store = open_file_store(folder_ / "results");
      const auto outcome = store->put_once("data/run-b.parquet", "same bytes");
      if (outcome) ++(*outcome == PutOutcome::created ? created : already);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(already, 7);
}

TEST(OpenStore, NamesWhatItKnows) {
  EXPECT_TRUE(open_store("file:///tmp/x"));
  for (const char* url : {"", "file://", "ftp://x", "/tmp/x"})
    EXPECT_EQ(open_store(url).refusal().code, "STORE-URL") << url;
}

}  // namespace
}  // namespace assay::publish
