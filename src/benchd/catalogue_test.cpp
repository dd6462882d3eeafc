#include "benchd/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::benchd {
namespace {

using testing::ElementsAre;

constexpr std::string_view kText =
    "# Refusals\n\nProse with | bars | in it.\n\n## scoring\n\n"
    "| code | meaning | remedy |\n|---|---|---|\n"
    "| `CALIBRATION-CV-EXCEEDED` | The spread is too large. | Calibrate again. |\n"
    "| `IO` | Counts differ. | Give \\| take. |\n"
    "## runner\n| `HELLO_TIMEOUT` | No hello. | Wait. |\n| two | cells |\n";

TEST(Catalogue, ReadsTheRowsUnderTheirHeadings) {
  const auto entries = parse_catalogue(kText);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].code, "CALIBRATION-CV-EXCEEDED");
  EXPECT_EQ(entries[0].library, "scoring");
  EXPECT_EQ(entries[0].meaning, "The spread is too large.");
  EXPECT_EQ(entries[1].remedy, "Give | take.");
  EXPECT_EQ(entries[2].library, "runner");
}

TEST(Catalogue, FindsExactlyOneSpelling) {
  const auto entries = parse_catalogue(kText);
  ASSERT_NE(find_entry(entries, "HELLO_TIMEOUT"), nullptr);
  EXPECT_EQ(find_entry(entries, "hello_timeout"), nullptr);
  EXPECT_EQ(find_entry(entries, "HELLO"), nullptr);
}

TEST(Catalogue, NearestNames) {
  const auto entries = parse_catalogue(kText);
  EXPECT_THAT(nearest_codes(entries, "hello", 1), ElementsAre("HELLO_TIMEOUT"));
  EXPECT_THAT(nearest_codes(entries, "CALIBRATION-CV-EXEEDED", 1),
              ElementsAre("CALIBRATION-CV-EXCEEDED"));
  EXPECT_EQ(nearest_codes(entries, "x", 5).size(), 3U);
}

TEST(Catalogue, TheEmbeddedDocumentHasEveryCodeOnce) {
  const auto entries = parse_catalogue(catalogue_text());
  ASSERT_FALSE(entries.empty());
  for (const CatalogueEntry& entry : entries) {
    EXPECT_EQ(find_entry(entries, entry.code), &entry) << entry.code << " stands twice";
    EXPECT_FALSE(entry.meaning.empty()) << entry.code;
    EXPECT_FALSE(entry.remedy.empty()) << entry.code;
  }
}

}  // namespace
}  // namespace assay::benchd
