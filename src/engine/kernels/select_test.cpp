#include "engine/kernels/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/kernels/refusals.h"

namespace assay::engine::kernels {
namespace {

using testing::HasSubstr;

constexpr CpuFeatures kNone{};
constexpr CpuFeatures kEverything{.avx2 = true, .avx512 = true, .vnni512 = true};

TEST(Select, TakesTheBestThatRuns) {
  const auto plain = select_table(kNone, "");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->name, "scalar");
  const auto best = select_table(kEverything, "");
  ASSERT_TRUE(best);
  EXPECT_EQ(*best, built_tables().front());
}

TEST(Select, TheLastTableIsThePortableOne) {
  ASSERT_FALSE(built_tables().empty());
  EXPECT_EQ(built_tables().back(), &kScalarTable);
}

TEST(Select, AWishIsTaken) {
  for (const KernelTable* table : built_tables()) {
    const auto chosen = select_table(kEverything, table->name);
    ASSERT_TRUE(chosen) << chosen.refusal().text();
    EXPECT_EQ(*chosen, table);
  }
}

TEST(Select, RefusesAnUnknownName) {
  for (const char* wish : {"sse9", "AVX2", "avx2 ", "auto"}) {
    const auto chosen = select_table(kEverything, wish);
    ASSERT_FALSE(chosen) << wish;
    EXPECT_EQ(chosen.refusal().code, kIsaUnknown.code);
    EXPECT_THAT(chosen.refusal().detail, HasSubstr(wish));
  }
}

TEST(Select, RefusesWhatIsNotBuilt) {
  const auto chosen = select_table(kEverything, "amx");
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.refusal().code, kIsaNotBuilt.code);
  EXPECT_THAT(chosen.refusal().detail, HasSubstr("amx"));
}

TEST(Select, RefusesWhatTheCpuCannotRun) {
  for (const KernelTable* table : built_tables()) {
    if (table == &kScalarTable) continue;
    const auto chosen = select_table(kNone, table->name);
    ASSERT_FALSE(chosen) << table->name;
    EXPECT_EQ(chosen.refusal().code, kIsaNotSupported.code);
    EXPECT_THAT(chosen.refusal().detail, HasSubstr(std::string(table->needs)));
    EXPECT_THAT(chosen.refusal().detail, HasSubstr("scalar"));
  }
}

TEST(Select, TheHostRunsWhatItSays) {
  const auto chosen = select_table(detect_cpu(), "");
  ASSERT_TRUE(chosen);
  EXPECT_TRUE((*chosen)->runs_on(detect_cpu()));
}

}  // namespace
}  // namespace assay::engine::kernels
