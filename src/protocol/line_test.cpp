#include "protocol/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/refusals.h"

namespace assay::protocol {
namespace {

TEST(Noise, OnlyABraceBeginsAMessage) {
  EXPECT_TRUE(is_noise(""));
  EXPECT_TRUE(is_noise("  \t\r"));
  EXPECT_TRUE(is_noise("loading weights…"));
  EXPECT_TRUE(is_noise("[1,2]"));
  EXPECT_TRUE(is_noise("\xEF\xBB\xBF{\"id\":0}"));  // a byte order mark
  EXPECT_TRUE(is_noise("\v{}"));
  EXPECT_FALSE(is_noise("{"));
  EXPECT_FALSE(is_noise(" \t\r{\"id\":0"));
  EXPECT_FALSE(is_noise("{not json"));
}

TEST(Noise, EnginesSkipOnlyWhiteSpace) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r"));
  EXPECT_FALSE(is_blank("[1,2]"));
  EXPECT_FALSE(is_blank("hello"));
}

void feed(LineBuffer& buffer, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = buffer.room();
    ASSERT_FALSE(room.empty());
    const size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    buffer.filled(n);
    bytes.remove_prefix(n);
  }
}

std::vector<std::string> split_in_pieces(std::string_view bytes, size_t piece, size_t size_max) {
  LineBuffer buffer(size_max);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const size_t n = std::min({piece, bytes.size(), buffer.room().size()});
    feed(buffer, bytes.substr(0, n));
    bytes.remove_prefix(n);
    while (true) {
      const auto line = buffer.next();
      if (!line) return {"TOO LONG"};
      if (!*line) break;
      lines.emplace_back(**line);
    }
  }
  if (const auto rest = buffer.rest()) lines.push_back("rest:" + std::string(*rest));
  return lines;
}

TEST(LineBuffer, SplitsTheSameWayHoweverTheBytesArrive) {
  const std::string_view bytes = "one\ntwo\r\n\n\r\nx\ry\nlast";
  const std::vector<std::string> expected = {"one", "two", "", "", "x\ry", "rest:last"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(split_in_pieces(bytes, piece, 100), expected) << piece;
  }
  EXPECT_EQ(split_in_pieces("a\n", 1, 100), std::vector<std::string>{"a"});
  EXPECT_EQ(split_in_pieces("", 1, 100), std::vector<std::string>{});
}

TEST(LineBuffer, TheBoundCountsEveryByteBeforeTheLineEnd) {
  const std::vector<std::string> exactly = {"12345", "x"};
  for (size_t piece = 1; piece <= 8; ++piece) {
    EXPECT_EQ(split_in_pieces("12345\nx\n", piece, 5), exactly) << piece;
  }
  EXPECT_EQ(split_in_pieces("123456", 1, 5), std::vector<std::string>{"TOO LONG"});
  EXPECT_EQ(split_in_pieces("1\n123456", 1, 5), std::vector<std::string>{"TOO LONG"});
}

TEST(LineBuffer, ALineOfFourMebibytesPassesAndOneByteMoreDoesNot) {
  EXPECT_EQ(kLineSizeMax, 4194304u);
  LineBuffer buffer;
  const std::string line(kLineSizeMax, 'x');
  feed(buffer, "{}\n" + line.substr(3));
  EXPECT_EQ(**buffer.next(), "{}");
  EXPECT_FALSE(*buffer.next());
  feed(buffer, "xxx\n");
  EXPECT_TRUE(**buffer.next() == line);

  LineBuffer flooded;
  feed(flooded, line);
  EXPECT_FALSE(*flooded.next());
  const auto room = flooded.room();
  ASSERT_EQ(room.size(), 1u);  // the memory is bounded: one byte more than a line
  room[0] = 'x';
  flooded.filled(1);
  const auto refused = flooded.next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, kLineTooLong.code);
}

TEST(LineBuffer, KnowsWhetherBytesAreWaiting) {
  LineBuffer buffer;
  EXPECT_FALSE(buffer.has_bytes());
  feed(buffer, "a\nb");
  EXPECT_EQ(**buffer.next(), "a");
  EXPECT_TRUE(buffer.has_bytes());
  EXPECT_EQ(*buffer.rest(), "b");
  EXPECT_FALSE(buffer.has_bytes());
  EXPECT_FALSE(buffer.rest());
}

}  // namespace
}  // namespace assay::protocol
