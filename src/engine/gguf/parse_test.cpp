// One file: what the reader accepts, and every way a file can be wrong. Case numbers (G01 …) are
// those of public reports of crashes in other readers, each rebuilt here byte by byte.
#include "engine/gguf/parse.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "base/text.h"
#include "engine/gguf/raw_gguf.h"
#include "engine/gguf/refusals.h"

namespace assay::engine::gguf {
namespace {

using ::testing::HasSubstr;

Result<ParsedFile> parse(const std::string& text) {
  return parse_file(Mapping::copy("test.gguf", std::as_bytes(std::span(text.data(), text.size()))));
}
Result<ParsedFile> parse(const RawGguf& raw) {
  return parse(raw.text());
}

void expect_refusal(const Result<ParsedFile>& result, const RefusalInfo& info,
                    std::string_view part) {
  ASSERT_FALSE(result) << "accepted";
  EXPECT_EQ(result.refusal().code, info.code) << result.refusal().detail;
  EXPECT_THAT(result.refusal().detail, HasSubstr(std::string(part)));
  EXPECT_THAT(result.refusal().detail, HasSubstr("test.gguf"));
}

constexpr std::array<uint64_t, 2> kDims{4, 3};

// One F32 tensor [4, 3] = 48 bytes behind one string key.
RawGguf good(uint32_t version = 3) {
  RawGguf raw;
  raw.start(1, 1, version).key_string("general.architecture", "llama");
  raw.tensor("w", kDims, 0, 0).pad();
  for (int i = 0; i < 12; ++i) raw.number(static_cast<float>(i));
  return raw;
}

TEST(Parse, ReadsVersionsTwoAndThree) {
  for (const uint32_t version : {2u, 3u}) {
    const auto file = parse(good(version));
    ASSERT_TRUE(file) << file.refusal().text();
    EXPECT_EQ(file->version, version);
    ASSERT_EQ(file->tensors.size(), 1u);
    const Tensor& tensor = file->tensors[0];
    EXPECT_EQ(tensor.name, "w");
    EXPECT_EQ(tensor.n_dims, 2u);
    EXPECT_EQ(tensor.element_count(), 12u);
    EXPECT_EQ(tensor.row_bytes(), 16u);
    ASSERT_EQ(tensor.data.size(), 48u);
    float last = 0;
    std::memcpy(&last, tensor.data.data() + 44, sizeof last);
    EXPECT_EQ(last, 11.0f);
    EXPECT_EQ(file->data_end, file->data_start + 48);
  }
}

TEST(Parse, EveryPrefixOfAFileIsRefused) {
  const std::string whole = good().text();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = parse(whole.substr(0, size));
    ASSERT_FALSE(file) << size;
    EXPECT_TRUE(file.refusal().code == kTruncated.code || file.refusal().code == kNotGguf.code ||
                file.refusal().code == kCount.code)
        << size << " " << file.refusal().text();
  }
}

TEST(Parse, AcceptsAFileWithoutTensorsOrKeys) {
  EXPECT_TRUE(parse(RawGguf().start(0, 0)));
}

TEST(Parse, RefusesOtherVersions) {
  for (const uint32_t version : {0u, 1u, 4u}) {
    expect_refusal(parse(RawGguf().start(0, 0, version)), kVersion, cat("version ", version));
  }
  expect_refusal(parse(RawGguf().start(0, 0, 0x03000000)), kVersion, "big-endian");
}

// The report's file, byte for byte: 65 bytes, dims [1, 0].
TEST(Parse, G01ZeroDimension) {
  constexpr std::array<uint64_t, 2> dims{1, 0};
  RawGguf raw;
  raw.start(1, 0).tensor("t", dims, 0, 0);
  ASSERT_EQ(raw.text().size(), 65u);
  EXPECT_EQ(to_hex(raw.text()),
            "474755460300000001000000000000000000000000000000"
            "010000000000000074"
            "0200000001000000000000000000000000000000"
            "000000000000000000000000");
  expect_refusal(parse(raw), kTensorShape, "dim[1] = 0");
}

TEST(Parse, G01NegativeDimensionAndOverflow) {
  constexpr std::array<uint64_t, 1> negative{UINT64_MAX};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("t", negative, 0, 0)), kTensorShape,
                 "dim[0] = -1");
  constexpr std::array<uint64_t, 4> huge{uint64_t{1} << 62, 4, 4, 4};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("t", huge, 0, 0)), kTensorShape,
                 "more elements");
  // 2^62 elements of 4 bytes: the count fits, the bytes do not.
  constexpr std::array<uint64_t, 1> bytes{uint64_t{1} << 62};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("t", bytes, 0, 0)), kTensorShape, "more bytes");
}

TEST(Parse, RefusesFiveDimensionsAndPartBlocks) {
  constexpr std::array<uint64_t, 5> five{1, 1, 1, 1, 1};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("t", five, 0, 0)), kTensorShape,
                 "5 dimensions");
  constexpr std::array<uint64_t, 1> part{48};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("t", part, 8, 0)), kTensorShape,
                 "Q8_0 (8) needs a multiple of 32");
}

TEST(Parse, G02AlignmentOfAnotherType) {
  RawGguf raw;
  raw.start(0, 1).key("general.alignment", 10).u64(32);
  expect_refusal(parse(raw), kAlignment, "is u64, expected u32");
  expect_refusal(parse(RawGguf().start(0, 1).key_string("general.alignment", "32")), kAlignment,
                 "is string");
}

// The report's file has 57 bytes: no tensor, one key.
TEST(Parse, G03ZeroAlignment) {
  RawGguf raw;
  raw.start(0, 1).key_u32("general.alignment", 0);
  ASSERT_EQ(raw.text().size(), 57u);
  expect_refusal(parse(raw), kAlignment, "is 0");
}

TEST(Parse, G04HugeOrOddAlignment) {
  for (const uint32_t value : {0x80000000u, 0x200000u, 4u, 33u, 48u}) {
    expect_refusal(parse(RawGguf().start(0, 1).key_u32("general.alignment", value)), kAlignment,
                   cat("is ", value));
  }
}

TEST(Parse, AlignmentHoldsForOffsetsAndTheDataSection) {
  constexpr std::array<uint64_t, 1> dims{2};
  RawGguf raw;
  raw.start(2, 1).key_u32("general.alignment", 8);
  raw.tensor("a", dims, 0, 0).tensor("b", dims, 0, 8).pad(8).zeros(8).number(1.0f).number(2.0f);
  const auto file = parse(raw);
  ASSERT_TRUE(file) << file.refusal().text();
  EXPECT_EQ(file->alignment, 8u);
  EXPECT_EQ(file->data_start % 8, 0u);
  EXPECT_EQ(file->tensors[1].file_offset, file->data_start + 8);

  RawGguf odd;
  odd.start(1, 0).tensor("a", dims, 0, 8).pad().zeros(64);
  expect_refusal(parse(odd), kTensorOffset, "offset 8, expected a multiple of 32");
}

// The report's file has 37 bytes.
TEST(Parse, G05EmptyKey) {
  RawGguf raw;
  raw.start(0, 1).key("", 0).number(uint8_t{0});
  ASSERT_EQ(raw.text().size(), 37u);
  expect_refusal(parse(raw), kKeyName, "key 0 at byte 24 is empty");
  RawGguf broken;
  broken.start(0, 1).key("\xff\x1b[2J", 0).number(uint8_t{0});
  expect_refusal(parse(broken), kKeyName, "\\xff\\x1b[2J");
}

TEST(Parse, RefusesEmptyTensorNames) {
  constexpr std::array<uint64_t, 1> dims{1};
  expect_refusal(parse(RawGguf().start(1, 0).tensor("", dims, 0, 0).pad().zeros(4)), kTensorName,
                 "has no name");
}

TEST(Parse, G07CountsAreBoundedByTheFile) {
  for (const uint64_t count : {uint64_t{1} << 60, UINT64_MAX, uint64_t{3}}) {
    expect_refusal(parse(RawGguf().start(0, count).zeros(38)), kCount,
                   cat("announces ", count, " metadata keys"));
    expect_refusal(parse(RawGguf().start(count, 0).zeros(71)), kCount,
                   cat("announces ", count, " tensors"));
  }
}

TEST(Parse, G09StringLengthNearTwoToTheSixtyFour) {
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63}) {
    RawGguf raw;
    raw.start(0, 1).u64(size).bytes("abcdefgh").zeros(16);
    expect_refusal(parse(raw), kTruncated, "ends inside key 0");
    RawGguf value;
    value.start(0, 1).key("k", 8).u64(size).zeros(16);
    expect_refusal(parse(value), kTruncated, "the value of `k`");
  }
}

TEST(Parse, G10StringPastTheEnd) {
  RawGguf raw;
  raw.start(0, 2).key("k", 8).u64(100).bytes("short").zeros(20);
  expect_refusal(parse(raw), kTruncated, "100 bytes needed");
}

TEST(Parse, ArraysAreBoundedByTheFile) {
  for (const uint32_t type : {0u, 4u, 8u, 10u, 9u}) {
    RawGguf raw;
    raw.start(0, 1).key_array("a", type, uint64_t{1} << 61).zeros(64);
    expect_refusal(parse(raw), kTruncated, "the value of `a`");
  }
  RawGguf strings;
  strings.start(0, 1).key_array("a", 8, 2).string("ok").u64(99);
  expect_refusal(parse(strings), kTruncated, "item 1");
}

TEST(Parse, NestedArraysAreBoundedInDepth) {
  const auto nested = [](int depth) {
    RawGguf raw;
    raw.start(0, 1).key("a", 9);
    for (int i = 1; i < depth; ++i) raw.u32(9).u64(1);
    raw.u32(0).u64(1).number(uint8_t{7});
    return raw;
  };
  EXPECT_TRUE(parse(nested(8)));
  expect_refusal(parse(nested(9)), kNesting, "deeper than 8");
}

TEST(Parse, RefusesUnknownValueTypes) {
  expect_refusal(parse(RawGguf().start(0, 1).key("k", 13).zeros(16)), kValueType, "value type 13");
  expect_refusal(parse(RawGguf().start(0, 1).key_array("k", 99, 1).zeros(16)), kValueType,
                 "items of type 99");
}

TEST(Parse, RefusesDuplicateKeys) {
  expect_refusal(parse(RawGguf().start(0, 2).key_u32("k", 1).key_u32("k", 2)), kKeyDuplicate,
                 "`k` stands twice");
}

TEST(Parse, G12DataCutShortSaysHowMuch) {
  const std::string whole = good().text();
  expect_refusal(parse(whole.substr(0, whole.size() - 5)), kTruncated,
                 "is 5 bytes short: tensor `w`");
  // Cut inside the padding, before the data section: 48 bytes of data and the rest of the padding.
  const auto file = parse(whole);
  ASSERT_TRUE(file);
  expect_refusal(parse(whole.substr(0, file->data_start - 3)), kTruncated, "is 51 bytes short");
}

TEST(Parse, G12OffsetsThatWrap) {
  constexpr std::array<uint64_t, 1> dims{8};
  for (const uint64_t offset : {UINT64_MAX - 31, uint64_t{1} << 63, uint64_t{64}}) {
    RawGguf raw;
    raw.start(1, 0).tensor("t", dims, 0, offset).pad().zeros(64);
    expect_refusal(parse(raw), kTruncated, "tensor `t`");
  }
}

TEST(Parse, G17SaysWhatTheFileLooksLike) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "an empty file"},
      {"GGU", "bytes 474755"},
      {"<!DOCTYPE html><html>", "an HTML page"},
      {"\n <HTML lang=en>", "an HTML page"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 98362432\n",
       "a git-lfs pointer (the model itself, 98362432 bytes, was not downloaded)"},
      {std::string(64, '\0'), "zero bytes"},
      {std::string("PK\x03\x04", 4), "a ZIP archive"},
      {std::string("\x40\0\0\0\0\0\0\0{\"a\"", 12), "a safetensors file"},
      {"tail of the model " + good().text(), "a GGUF header stands at byte 18"},
      {"FUGG", "big-endian"},
  };
  for (const auto& [text, phrase] : cases) {
    expect_refusal(parse(text), kNotGguf, phrase);
    expect_refusal(parse(text), kNotGguf, cat("size ", text.size(), " bytes"));
  }
}

// Types that this build does not know may ride along; only their offset is checked.
TEST(Parse, UnknownTensorTypesAreCarried) {
  constexpr std::array<uint64_t, 1> dims{32};
  RawGguf raw;
  raw.start(1, 0).tensor("t", dims, 39, 0).pad().zeros(17);
  const auto file = parse(raw);
  ASSERT_TRUE(file) << file.refusal().text();
  EXPECT_EQ(file->tensors[0].type, nullptr);
  EXPECT_TRUE(file->tensors[0].data.empty());
  RawGguf outside;
  outside.start(1, 0).tensor("t", dims, 39, 1024).pad().zeros(17);
  expect_refusal(parse(outside), kTruncated, "tensor `t`");
}

// Names come from strangers: a message never moves the reader's cursor.
TEST(Parse, MessagesShowControlBytesAsText) {
  constexpr std::array<uint64_t, 1> dims{0};
  const auto file = parse(RawGguf().start(1, 0).tensor("\x1b[31mred", dims, 0, 0));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.refusal().detail, HasSubstr("\\x1b[31mred"));
  EXPECT_EQ(file.refusal().detail.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace assay::engine::gguf
