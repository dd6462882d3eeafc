#include "publish/tags.h"

#include <gtest/gtest.h>

namespace assay::publish {
namespace {

using Tag = Tags::Tag;

TEST(Tags, KeepTheirOrderAndTheirTexts) {
  Tags tags;
  EXPECT_TRUE(tags.empty());
  EXPECT_EQ(tags.begin(), tags.end());
  tags.put("b", "two");
  tags.put("a", "");
  tags.put("", "no key");
  tags.put("long", std::string(100000, 'x'));
  EXPECT_EQ(tags.size(), 4u);
  EXPECT_EQ(tags[0], (Tag{"b", "two"}));
  EXPECT_EQ(tags[1], (Tag{"a", ""}));
  EXPECT_EQ(tags[2], (Tag{"", "no key"}));
  EXPECT_EQ(tags[3].second.size(), 100000u);
  EXPECT_EQ(tags.find("a"), "");
  EXPECT_EQ(tags.find(""), "no key");
  EXPECT_FALSE(tags.find("two")) << "a text is no key";
  EXPECT_FALSE(tags.find("ba"));
  tags.clear();
  EXPECT_TRUE(tags.empty());
  EXPECT_FALSE(tags.find("a"));
}

TEST(Tags, AreEqualTagByTag) {
  EXPECT_EQ((Tags{{"a", "1"}, {"b", "2"}}), (Tags{{"a", "1"}, {"b", "2"}}));
  EXPECT_NE((Tags{{"a", "1"}, {"b", "2"}}), (Tags{{"b", "2"}, {"a", "1"}}));
  // The same bytes, cut elsewhere.
  EXPECT_NE((Tags{{"ab", "1"}}), (Tags{{"a", "b1"}}));
  EXPECT_NE((Tags{{"a", "b"}, {"c", "d"}}), (Tags{{"a", "bcd"}}));
}

TEST(Tags, SortedByKey) {
  const Tags tags = {{"b", "1"}, {"a", "3"}, {"B", "2"}};
  EXPECT_EQ(sorted(tags), (std::vector<Tag>{{"B", "2"}, {"a", "3"}, {"b", "1"}}));
}

}  // namespace
}  // namespace assay::publish
