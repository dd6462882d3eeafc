// Typed access to metadata: any integer width, ranges, and refusals by key.
#include "engine/gguf/metadata.h"

#include <gmock/gmock.h>

#include <cmath>

#include "engine/gguf/file.h"
#include "engine/gguf/raw_gguf.h"
#include "engine/gguf/refusals.h"
#include "engine/gguf/writer.h"

namespace assay::engine::gguf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

File open(const RawGguf& raw) {
  auto file = open_bytes("m.gguf", raw.data());
  EXPECT_TRUE(file) << file.refusal().text();
  return std::move(*file);
}

template <class T>
void expect_refusal(const Result<T>& result, const RefusalInfo& info, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.refusal().code, info.code);
  EXPECT_THAT(result.refusal().detail, HasSubstr(std::string(part)));
  EXPECT_THAT(result.refusal().detail, HasSubstr("m.gguf"));
}

TEST(Metadata, IntegersAtEveryWidth) {
  RawGguf raw;
  raw.start(0, 8);
  raw.key("u8", 0).number(uint8_t{200}).key("i8", 1).number(int8_t{100});
  raw.key("u16", 2).number(uint16_t{60000}).key("i16", 3).number(int16_t{30000});
  raw.key("u32", 4).number(4000000000u).key("i32", 5).number(int32_t{2000000000});
  raw.key("u64", 10).number(UINT64_MAX).key("i64", 11).number(int64_t{1} << 62);
  const File file = open(raw);
  const Metadata& metadata = file.metadata();
  EXPECT_EQ(*metadata.get_uint("u8"), 200u);
  EXPECT_EQ(*metadata.get_uint("i8"), 100u);
  EXPECT_EQ(*metadata.get_uint("u16"), 60000u);
  EXPECT_EQ(*metadata.get_uint("i16"), 30000u);
  EXPECT_EQ(*metadata.get_uint("u32"), 4000000000u);
  EXPECT_EQ(*metadata.get_uint("i32"), 2000000000u);
  EXPECT_EQ(*metadata.get_uint("u64"), UINT64_MAX);
  EXPECT_EQ(*metadata.get_uint("i64"), uint64_t{1} << 62);
  expect_refusal(metadata.get_uint("u8", 0, 199), kKeyRange, "`u8` is 200, expected 0 to 199");
  expect_refusal(metadata.get_uint("u8", 201, 300), kKeyRange, "expected 201 to 300");
  expect_refusal(metadata.get_uint("none"), kKeyMissing, "`none`");
  EXPECT_EQ(*metadata.uint_or("none", 7), 7u);
  expect_refusal(metadata.uint_or("u8", 7, 0, 100), kKeyRange, "`u8`");
}

TEST(Metadata, NegativeNumbersAreNotCounts) {
  RawGguf raw;
  raw.start(0, 2).key("i8", 1).number(int8_t{-1}).key("i64", 11).number(INT64_MIN);
  const File file = open(raw);
  expect_refusal(file.metadata().get_uint("i8"), kKeyRange, "is -1");
  expect_refusal(file.metadata().get_uint("i64"), kKeyRange, "is -9223372036854775808");
}

TEST(Metadata, OtherTypesAreRefused) {
  RawGguf raw;
  raw.start(0, 5).key_string("s", "3").key("f", 6).number(3.0f).key("b", 7).number(uint8_t{1});
  raw.key_array("a", 4, 1).u32(3).key("bad", 7).number(uint8_t{2});
  const File file = open(raw);
  const Metadata& metadata = file.metadata();
  for (const char* key : {"s", "f", "b", "a"}) {
    expect_refusal(metadata.get_uint(key), kKeyType, "expected an integer");
  }
  expect_refusal(metadata.get_real("s"), kKeyType, "is string, expected f32 or f64");
  expect_refusal(metadata.get_bool("f"), kKeyType, "expected bool");
  expect_refusal(metadata.get_string("a"), kKeyType, "array of u32");
  expect_refusal(metadata.get_uints("s"), kKeyType, "expected an array");
  expect_refusal(metadata.get_strings("a"), kKeyType, "array of strings");
  expect_refusal(metadata.get_bool("bad"), kKeyRange, "byte 2");
  EXPECT_TRUE(*metadata.get_bool("b"));
  EXPECT_EQ(*metadata.get_real("f"), 3.0);
  EXPECT_EQ(*metadata.get_string("s"), "3");
}

TEST(Metadata, RealsMustBeFinite) {
  RawGguf raw;
  raw.start(0, 3).key("nan", 6).number(std::nanf("")).key("inf", 12).number(HUGE_VAL);
  raw.key_array("list", 6, 2).number(1.5f).number(-INFINITY);
  const File file = open(raw);
  expect_refusal(file.metadata().get_real("nan"), kKeyRange, "not finite");
  expect_refusal(file.metadata().get_real("inf"), kKeyRange, "not finite");
  expect_refusal(file.metadata().get_reals("list"), kKeyRange, "item 1 is not finite");
}

TEST(Metadata, Arrays) {
  RawGguf raw;
  raw.start(0, 5);
  raw.key_array("u32", 4, 2).u32(1).u32(2);
  raw.key_array("i64", 11, 2).number(int64_t{-3}).number(int64_t{4});
  raw.key_array("text", 8, 3).string("a").string("").string("ccc");
  raw.key_array("bool", 7, 2).number(uint8_t{1}).number(uint8_t{0});
  raw.key_array("none", 4, 0);
  const File file = open(raw);
  const Metadata& metadata = file.metadata();
  EXPECT_THAT(*metadata.get_uints("u32"), ElementsAre(1, 2));
  EXPECT_THAT(*metadata.get_ints("i64"), ElementsAre(-3, 4));
  expect_refusal(metadata.get_uints("i64"), kKeyRange, "item 0 is -3");
  expect_refusal(metadata.get_uints("u32", 0, 1), kKeyRange, "item 1 is 2");
  EXPECT_THAT(*metadata.get_bools("bool"), ElementsAre(true, false));
  EXPECT_TRUE(metadata.get_uints("none")->empty());
  const auto strings = metadata.get_strings("text");
  EXPECT_EQ(strings->size(), 3u);
  EXPECT_THAT(std::vector<std::string_view>(strings->begin(), strings->end()),
              ElementsAre("a", "", "ccc"));
}

TEST(Metadata, PerLayerFromScalarOrArray) {
  RawGguf raw;
  raw.start(0, 2).key_u32("one", 8).key_array("many", 5, 3);
  raw.number(int32_t{1}).number(int32_t{2}).number(int32_t{3});
  const File file = open(raw);
  EXPECT_THAT(*file.metadata().get_uint_per_layer("one", 2), ElementsAre(8, 8));
  EXPECT_THAT(*file.metadata().get_uint_per_layer("many", 3), ElementsAre(1, 2, 3));
  expect_refusal(file.metadata().get_uint_per_layer("many", 4), kKeyRange,
                 "has 3 items, expected 4");
}

TEST(Metadata, ViewsSurviveAMoveOfTheFile) {
  RawGguf raw;
  raw.start(0, 1).key_string("s", "stays");
  File file = open(raw);
  const std::string_view view = *file.metadata().get_string("s");
  const File moved = std::move(file);
  EXPECT_EQ(view, "stays");
  EXPECT_EQ(moved.metadata().get_string("s")->data(), view.data());
}

// What the writer writes, the reader reads.
TEST(Writer, RoundTrip) {
  Writer writer(64);
  writer.add_u16("u16", 7);
  writer.add_bool("bool", true);
  const std::vector<std::string> words{"x", "yy"};
  writer.add_strings("words", words);
  writer.add_tensor("a", 0, {3}, [](uint64_t, std::span<std::byte> rows) {
    std::fill(rows.begin(), rows.end(), std::byte{1});
  });
  writer.add_tensor("b", 8, {32, 5}, [](uint64_t first_row, std::span<std::byte> rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<std::byte>(first_row + i / 34);
    }
  });
  EXPECT_EQ(writer.data_bytes(), 12u + 5 * 34);
  const std::string bytes = writer.bytes();
  const auto file = open_bytes("w.gguf", std::as_bytes(std::span(bytes.data(), bytes.size())));
  ASSERT_TRUE(file) << file.refusal().text();
  EXPECT_EQ(file->alignment(), 64u);
  EXPECT_EQ(*file->metadata().get_uint("u16"), 7u);
  EXPECT_EQ(file->metadata().get_strings("words")->size(), 2u);
  const Tensor* const b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->row_count(), 5u);
  EXPECT_EQ(b->data[34 * 4], std::byte{4});
  EXPECT_EQ(bytes.size() % 64, 0u);
}

}  // namespace
}  // namespace assay::engine::gguf
