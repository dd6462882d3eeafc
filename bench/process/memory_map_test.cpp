#include "bench/process/memory_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace assay::bench {
namespace {

TEST(MemoryMap, AddsUpByKind) {
  const MemoryMap map = parse_smaps(
      "55d0c0a00000-55d0c0a21000 r-xp 00000000 08:01 1 /opt/bin/engine\n"
      "Rss:                   8 kB\n"
      "Pss:                   4 kB\n"
      "Pss_Dirty:             3 kB\n"
      "7f00c0a00000-7f00c6a00000 r--p 00000000 08:01 2 /models/a b.gguf\n"
      "Rss:                 100 kB\n"
      "Pss:                  50 kB\n"
      "7fff00000000-7fff00021000 rw-p 00000000 00:00 0 [heap]\n"
      "Rss:                  16 kB\n"
      "Pss:                  16 kB\n"
      "7fff10000000-7fff10021000 rw-p 00000000 00:00 0 \n"
      "Rss:                   4 kB\n"
      "Pss:                   4 kB\n",
      "a b.gguf");
  EXPECT_EQ(map.weights.rss, 100 * 1024U);
  EXPECT_EQ(map.weights.pss, 50 * 1024U);
  EXPECT_EQ(map.code.rss, 8 * 1024U);
  EXPECT_EQ(map.code.pss, 4 * 1024U);
  EXPECT_EQ(map.anonymous.rss, 20 * 1024U);
}

TEST(MemoryMap, ReadsThisProcess) {
  const auto map = memory_map(getpid(), "no such model");
  ASSERT_TRUE(map);
  EXPECT_GT(map->code.rss, 0U);
  EXPECT_GT(map->anonymous.rss, 0U);
  EXPECT_EQ(map->weights.rss, 0U);
}

TEST(MemoryMap, RefusesAProcessThatIsNotThere) {
  const auto map = memory_map(-1, "model");
  ASSERT_FALSE(map);
  EXPECT_EQ(map.refusal().code, "FILE-UNREADABLE");
}

}  // namespace
}  // namespace assay::bench
