// Files on disk: single files, split sets, folders; what is refused, and which file is named.
#include "engine/gguf/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "base/refusals.h"
#include "base/text.h"
#include "engine/gguf/raw_gguf.h"
#include "engine/gguf/refusals.h"
#include "engine/gguf/split.h"
#include "engine/gguf/writer.h"

namespace assay::engine::gguf {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay_gguf_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file_atomic(folder_ / name, bytes));
    return folder_ / name;
  }

  fs::path folder_;
};

RowSource zeros() {
  return [](uint64_t, std::span<std::byte> rows) {
    std::fill(rows.begin(), rows.end(), std::byte{0});
  };
}

struct ShardPlan {
  int index = 0;
  int count = 1;
  int tensors_stated = -1;  // split.tensors.count; -1 = not stated
  std::vector<std::string> tensors{};
};

std::string shard(const ShardPlan& plan) {
  Writer writer;
  writer.add_string("general.architecture", "llama");
  writer.add_u16("split.no", static_cast<uint16_t>(plan.index));
  writer.add_u16("split.count", static_cast<uint16_t>(plan.count));
  if (plan.tensors_stated >= 0) writer.add_i32("split.tensors.count", plan.tensors_stated);
  for (const std::string& name : plan.tensors) writer.add_tensor(name, 0, {8}, zeros());
  return writer.bytes();
}

std::string model(std::string_view architecture = "llama", uint32_t nextn = 0,
                  std::string_view type = "model") {
  Writer writer;
  writer.add_string("general.architecture", architecture);
  writer.add_string("general.type", type);
  if (nextn > 0) writer.add_u32(cat(architecture, ".nextn_predict_layers"), nextn);
  writer.add_tensor("w", 0, {8}, zeros());
  return writer.bytes();
}

template <class T>
void expect_refusal(const Result<T>& result, const RefusalInfo& info, const auto& matcher) {
  ASSERT_FALSE(result) << "accepted";
  EXPECT_EQ(result.refusal().code, info.code) << result.refusal().detail;
  EXPECT_THAT(result.refusal().detail, matcher);
}

TEST_F(FileTest, OpensAFileAndFindsTensors) {
  const fs::path path = write("m.gguf", model());
  const auto file = open_file(path);
  ASSERT_TRUE(file) << file.refusal().text();
  EXPECT_EQ(file->path(), path);
  ASSERT_EQ(file->shards().size(), 1u);
  EXPECT_EQ(file->shards()[0].size_bytes, fs::file_size(path));
  EXPECT_EQ(file->data_bytes(), 32u);
  EXPECT_EQ(file->find("x"), nullptr);
  const auto found = file->require("w");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->data.size(), 32u);
  EXPECT_EQ(dims_text(**found), "[8]");
  expect_refusal(file->require("x"), kTensorMissing, HasSubstr("`x` is not there"));
}

// G27: types that were removed or are newer are refused when bound, with what is known.
TEST_F(FileTest, G27UnknownTypesAreRefusedWhenBound) {
  constexpr std::array<uint64_t, 1> dims{256};
  RawGguf raw;
  raw.start(3, 0).tensor("old", dims, 36, 0).tensor("new", dims, 39, 0).tensor("q2", dims, 10, 0);
  raw.pad().zeros(84);
  const auto file = open_bytes("t.gguf", raw.data());
  ASSERT_TRUE(file) << file.refusal().text();
  expect_refusal(file->require("old"), kTypeUnknown,
                 AllOf(HasSubstr("type 36, not known to this build"), HasSubstr("Q4_K (12)")));
  expect_refusal(file->require("new"), kTypeUnknown,
                 AllOf(HasSubstr("type 39, not known to this build"), HasSubstr("IQ4_NL (20)")));
  expect_refusal(file->require("q2"), kTypeUnknown, HasSubstr("Q2_K (10)"));
}

TEST_F(FileTest, RefusesWhatIsNotARegularFile) {
  expect_refusal(open_file(folder_ / "none.gguf"), kFileUnreadable, HasSubstr("none.gguf"));
  expect_refusal(open_file(folder_), kFileUnreadable, HasSubstr("regular file"));
  const fs::path pipe = folder_ / "pipe.gguf";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(open_file(pipe), kFileUnreadable, HasSubstr("regular file"));
  expect_refusal(open_file(write("empty.gguf", "")), kNotGguf, HasSubstr("an empty file"));
}

TEST_F(FileTest, DuplicateTensorsAreRefused) {
  Writer writer;
  writer.add_tensor("w", 0, {8}, zeros());
  writer.add_tensor("w", 0, {8}, zeros());
  expect_refusal(open_file(write("m.gguf", writer.bytes())), kTensorDuplicate, HasSubstr("`w`"));
}

TEST_F(FileTest, ReadsASplitSet) {
  const fs::path first = write("m-00001-of-00003.gguf", shard({0, 3, 3}));
  write("m-00002-of-00003.gguf", shard({1, 3, 3, {"a", "b"}}));
  write("m-00003-of-00003.gguf", shard({2, 3, -1, {"c"}}));
  const auto file = open_file(first);
  ASSERT_TRUE(file) << file.refusal().text();
  EXPECT_EQ(file->shards().size(), 3u);
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->find("c")->shard, 2u);
  EXPECT_EQ(*file->metadata_of(2).get_uint("split.no"), 2u);
  expect_refusal(open_file(folder_ / "m-00002-of-00003.gguf"), kSplitNotFirst,
                 AllOf(HasSubstr("shard 2 of 3"), HasSubstr("m-00001-of-00003.gguf")));
}

TEST_F(FileTest, G14NamesTheShardThatIsShort) {
  const fs::path first = write("m-00001-of-00002.gguf", shard({0, 2, 1}));
  const std::string second = shard({1, 2, 1, {"a"}});
  write("m-00002-of-00002.gguf", second.substr(0, second.size() - 8));
  expect_refusal(open_file(first), kTruncated,
                 AllOf(HasSubstr("m-00002-of-00002.gguf"), HasSubstr("8 bytes short")));
}

TEST_F(FileTest, G18ExplainsJoinedShards) {
  const std::string joined = shard({0, 2, 1}) + shard({1, 2, 1, {"a"}});
  for (const char* name : {"model.gguf", "m-00001-of-00002.gguf"}) {
    expect_refusal(open_file(write(name, joined)), kSplitJoined, HasSubstr("joined with `cat`"));
  }
  // The first shard may hold tensors too.
  expect_refusal(open_file(write("n.gguf", shard({0, 2, 2, {"a"}}) + shard({1, 2, 2, {"b"}}))),
                 kSplitJoined, HasSubstr("shard 1 of 2"));
}

TEST_F(FileTest, G19ListsEveryMissingShardFirst) {
  const fs::path first = write("m-00001-of-00004.gguf", shard({0, 4, 3}));
  write("m-00003-of-00004.gguf", "broken, but not what the message is about");
  expect_refusal(open_file(first), kSplitMissing,
                 AllOf(HasSubstr("2 of 4 shards are missing"), HasSubstr("m-00002-of-00004.gguf"),
                       HasSubstr("m-00004-of-00004.gguf"), Not(HasSubstr("m-00003"))));
}

TEST_F(FileTest, G19ALongListIsCut) {
  const fs::path first = write("m-00001-of-00200.gguf", shard({0, 200, 3}));
  expect_refusal(open_file(first), kSplitMissing,
                 AllOf(HasSubstr("199 of 200"), HasSubstr("and 179 more")));
}

TEST_F(FileTest, G21MetadataDecidesNotTheName) {
  EXPECT_TRUE(open_file(write("x-00001-of-00013.gguf", shard({0, 1, 1, {"a"}}))));
  EXPECT_TRUE(open_file(write("y-00001-of-00013.gguf", model())));
  EXPECT_TRUE(open_file(write("best-of-breed.gguf", model())));
  // llama-quantize leaves split.count = 0 in merged files.
  EXPECT_TRUE(open_file(write("z-00002-of-00002.gguf", shard({0, 0, 1, {"a"}}))));
  expect_refusal(open_file(write("model.gguf", shard({0, 2, 1}))), kSplitName,
                 HasSubstr("-00001-of-00002.gguf"));
}

TEST_F(FileTest, G22SplitCountOfAnotherType) {
  Writer writer;
  writer.add_string("split.count", "2");
  expect_refusal(open_file(write("m.gguf", writer.bytes())), kKeyType, HasSubstr("`split.count`"));
}

TEST_F(FileTest, ShardsThatDoNotBelongTogether) {
  const fs::path first = write("m-00001-of-00002.gguf", shard({0, 2, 5}));
  write("m-00002-of-00002.gguf", shard({1, 2, 5, {"a"}}));
  expect_refusal(open_file(first), kSplitMismatch, HasSubstr("is 5, but the shards hold 1"));
  write("m-00001-of-00002.gguf", shard({0, 2, 1}));
  write("m-00002-of-00002.gguf", shard({1, 3, 1, {"a"}}));
  expect_refusal(open_file(first), kSplitMismatch,
                 AllOf(HasSubstr("m-00002-of-00002.gguf"), HasSubstr("shard 2 of 3")));
  write("m-00002-of-00002.gguf", model());
  expect_refusal(open_file(first), kSplitMismatch, HasSubstr("shard 1 of 1"));
  write("m-00001-of-00002.gguf", shard({0, 2, 2, {"a"}}));
  write("m-00002-of-00002.gguf", shard({1, 2, 2, {"a"}}));
  expect_refusal(open_file(first), kTensorDuplicate, HasSubstr("`a`"));
}

TEST_F(FileTest, FolderWithModelAndHead) {
  write("model.gguf", model("qwen4exp"));
  write("mtp.gguf", model("qwen4exp", 1));
  write("mmproj.gguf", model("clip", 0, "mmproj"));
  write("notes.txt", "not a model");
  const auto files = open_model(folder_);
  ASSERT_TRUE(files) << files.refusal().text();
  EXPECT_EQ(files->model.path().filename(), "model.gguf");
  ASSERT_TRUE(files->head);
  EXPECT_EQ(files->head->path().filename(), "mtp.gguf");
  // A file is taken alone, whatever lies beside it.
  const auto alone = open_model(folder_ / "model.gguf");
  ASSERT_TRUE(alone);
  EXPECT_FALSE(alone->head);
}

TEST_F(FileTest, FolderWithASplitModel) {
  write("m-00001-of-00002.gguf", shard({0, 2, 1}));
  write("m-00002-of-00002.gguf", shard({1, 2, 1, {"a"}}));
  const auto files = open_model(folder_);
  ASSERT_TRUE(files) << files.refusal().text();
  EXPECT_EQ(files->model.shards().size(), 2u);
  fs::remove(folder_ / "m-00001-of-00002.gguf");
  expect_refusal(open_model(folder_), kSplitMissing, HasSubstr("m-00002-of-00002.gguf"));
}

TEST_F(FileTest, FoldersThatDoNotSayWhichModel) {
  expect_refusal(open_model(folder_), kFolderEmpty, HasSubstr("holds no model"));
  write("mtp.gguf", model("qwen4exp", 1));
  expect_refusal(open_model(folder_), kFolderEmpty, HasSubstr("only a draft head, `mtp.gguf`"));
  write("mtp2.gguf", model("qwen4exp", 1));
  expect_refusal(open_model(folder_), kFolderAmbiguous,
                 AllOf(HasSubstr("`mtp.gguf` and `mtp2.gguf`"), HasSubstr("draft head")));
  fs::remove(folder_ / "mtp2.gguf");
  write("a.gguf", model());
  write("b.gguf", model());
  expect_refusal(open_model(folder_), kFolderAmbiguous,
                 AllOf(HasSubstr("`a.gguf` and `b.gguf`"), HasSubstr("the model")));
  write("b.gguf", "<html>");
  expect_refusal(open_model(folder_), kNotGguf, HasSubstr("b.gguf"));
}

TEST_F(FileTest, AShardAloneInMemoryIsRefused) {
  const std::string bytes = shard({0, 2, 1});
  expect_refusal(open_bytes("m", std::as_bytes(std::span(bytes.data(), bytes.size()))),
                 kSplitMissing, HasSubstr("one of 2 shards"));
}

TEST(SplitName, Forms) {
  const auto name = parse_split_name("a-b-00002-of-00013.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "a-b");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(split_file_name("a-b", 2, 13), "a-b-00002-of-00013.gguf");
  for (const char* other :
       {"a.gguf", "a-2-of-3.gguf", "a-00003-of-00002.gguf", "a-00000-of-00002.gguf",
        "a-00001-of-00002.bin", "-of-.gguf", "a-0000x-of-00002.gguf"}) {
    EXPECT_FALSE(parse_split_name(other)) << other;
  }
}

// Sizes of the blocks, against the format's structures (docs/formats/gguf.md).
TEST(Types, BlockSizes) {
  EXPECT_EQ(find_type("Q4_K")->block_bytes, 2u + 2 + 12 + 128);
  EXPECT_EQ(find_type("Q5_K")->block_bytes, 2u + 2 + 12 + 32 + 128);
  EXPECT_EQ(find_type("Q6_K")->block_bytes, 128u + 64 + 16 + 2);
  EXPECT_EQ(find_type("Q8_0")->block_bytes, 2u + 32);
  EXPECT_EQ(find_type("Q4_1")->block_bytes, 2u + 2 + 16);
  EXPECT_EQ(find_type("Q5_1")->block_bytes, 2u + 2 + 4 + 16);
  EXPECT_EQ(find_type("PQ2_0")->id, 142u);
  EXPECT_EQ(find_type(39u), nullptr);
  EXPECT_EQ(find_type("Q9_9"), nullptr);
  for (size_t i = 1; i < std::size(kTypes); ++i) EXPECT_LT(kTypes[i - 1].id, kTypes[i].id);
}

}  // namespace
}  // namespace assay::engine::gguf
