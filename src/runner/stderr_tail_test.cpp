#include "runner/stderr_tail.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "runner/post_mortem.h"

namespace assay::runner {
namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& chunks) {
  std::vector<std::string> lines;
  StderrLines splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (const auto& chunk : chunks) splitter.feed(chunk);
  splitter.finish();
  return lines;
}

TEST(StderrLines, SplitsAcrossChunksAndKeepsALastLineWithoutLf) {
  EXPECT_EQ(lines_of({"a\nb", "c\r\n", "\n", "d"}), (std::vector<std::string>{"a", "bc", "", "d"}));
}

TEST(StderrLines, TakesALineOfExactlyTheCap) {
  const std::string full(kStderrLineSizeMax, 'x');
  EXPECT_EQ(lines_of({full + "\nafter\n"}), (std::vector<std::string>{full, "after"}));
}

TEST(StderrLines, ReplacesAnEndlessLineOnceAndDropsItUpToItsLf) {
  const std::string block(40000, 'x');
  EXPECT_EQ(lines_of({block, block, block, block + "\nafter\n"}),
            (std::vector<std::string>{"line exceeded 65536 bytes", "after"}));
}

TEST(StderrLines, RedactsAndRepairs) {
  EXPECT_EQ(lines_of({"expected 12\n\xFF\n"}),
            (std::vector<std::string>{"token-validation-failed", "\xEF\xBF\xBD"}));
}

TEST(StderrTail, DropsTheOldestBeyondItsTotal) {
  StderrTail tail;
  const std::string line(1023, 'l');  // 1,024 with the one counted for each line: 64 fit
  for (int i = 0; i < 65; ++i) tail.add(cat(i, line.substr(std::to_string(i).size())));
  ASSERT_EQ(tail.lines().size(), 64U);
  EXPECT_EQ(tail.lines().front().substr(0, 2), "1l");
  EXPECT_EQ(tail.lines().back().substr(0, 3), "64l");
}

TEST(StderrTail, ABinaryBlobDoesNotEvictText) {
  StderrTail tail;
  tail.add("the cause");
  for (int i = 0; i < 20; ++i) tail.add(std::string(60000, '\x01'));
  EXPECT_EQ(tail.lines().front(), "the cause");  // 20 x 2,049 is far below the total
}

TEST(StderrTail, ReportLetsTheNewestWinAndCountsWhatIsLeftOut) {
  StderrTail tail;
  tail.add("first");
  tail.add(std::string(100, 'm'));
  tail.add("last");
  EXPECT_EQ(tail.report(1000), cat("stderr: first | ", std::string(100, 'm'), " | last"));
  EXPECT_EQ(tail.report(40), "stderr: (1 more stderr lines) | first | last");  // skipped, no stop
}

TEST(StderrTail, SilenceIsAFinding) {
  EXPECT_EQ(StderrTail().report(1000), "stderr was empty");
}

TEST(PostMortem, FourEndingsInDisjointWords) {
  EXPECT_EQ(describe({Ending::Kind::exited, 3, ""}), "the engine exited by itself with code 3");
  EXPECT_EQ(describe({Ending::Kind::signalled, 9, ""}),
            "the engine died of signal 9 (SIGKILL) that the harness did not send");
  EXPECT_EQ(describe({Ending::Kind::killed_by_us, 0, ""}),
            "the engine outlived its output stream and was killed by the harness after 2000 ms");
  EXPECT_EQ(describe({Ending::Kind::unknown, 0, "no child"}),
            "how the engine ended is unknown: no child");
}

TEST(PostMortem, FitsASealedReason) {
  StderrTail tail;
  for (int i = 0; i < 100; ++i) tail.add(std::string(100, 'w'));
  EXPECT_LE(post_mortem_text({Ending::Kind::exited, 1, ""}, tail).size(), 1800U);
}

}  // namespace
}  // namespace assay::runner
