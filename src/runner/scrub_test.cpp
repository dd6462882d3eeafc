#include "runner/scrub.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"

namespace assay::runner {
namespace {

struct Fixture {
  std::string_view raw, scrubbed;
};

// One line each; the right side is written from the rules in scrub.h.
constexpr Fixture kFixtures[] = {
    {"plain words stay, 12.5 tok/s", "plain words stay, 12.5 tok/s"},
    {"tab\tstays", "tab\tstays"},
    {"bell\x07 and \x1b[31mred", "bell\\x07 and \\x1b[31mred"},
    {"del\x7f", "del\\x7f"},
    {"see https://example.com/a?b=c for more", "see <url> for more"},
    {"(ssh://git@host/x)", "(<url>)"},
    {"mail someone@example.com now", "mail <user@host> now"},
    {"API_TOKEN=hunter2 and the rest", "API_TOKEN=<redacted>"},
    {"password : swordfish", "password :<redacted>"},
    {"Authorization: Bearer abc.def", "Authorization:<redacted>"},
    {"{\"api_key\":\"abc\",\"n\":1}", "{\"api_key\":<redacted>"},
    {"mode=fast token=abc", "mode=fast token=<redacted>"},
    {"a=1&secret=2", "a=1&secret=<redacted>"},
    {"open /home/u/models/x.gguf failed", "open <path>/x.gguf failed"},
    {"open /etc/passwd failed", "open <path> failed"},
    {"open ~/x failed", "open <path> failed"},
    {"open ../a/b/c.txt failed", "open <path>/c.txt failed"},
    {"in a/b/c", "in <path>/c"},
    {"in a/b", "in a/b"},
    {"rate tok/s", "rate tok/s"},
    {"at /home/u/src/main.cpp:12: boom", "at <path>/main.cpp:12: boom"},
    {"node7.cluster.internal:9000 down", "<host>:9000 down"},
    {"connect db.example.com.", "connect <host>."},
    {"localhost:80 and 127.0.0.1:80", "localhost:80 and 127.0.0.1:80"},
    {"file model.gguf, libcuda.so", "file model.gguf, libcuda.so"},
    {"version 1.2.3", "version 1.2.3"},
    {"\"/home/u/models/x.gguf\"", "\"<path>/x.gguf\""},
    {"std::bad_alloc", "std::bad_alloc"},
};

TEST(Scrub, FollowsItsFixtureList) {
  for (const auto& fixture : kFixtures) EXPECT_EQ(scrub(fixture.raw), fixture.scrubbed);
}

TEST(Scrub, IsIdempotentOnTheFixtures) {
  for (const auto& fixture : kFixtures) {
    const std::string once = scrub(fixture.raw);
    EXPECT_EQ(scrub(once), once) << fixture.raw;
  }
}

TEST(Scrub, IsIdempotentOnRandomText) {
  constexpr std::string_view pieces[] = {
      "TOKEN",  "key",   "=",      ":",           " ",          "/",        "a",         "b.com",
      ".",      "@",     "://",    "(",           ")",          "~",        "..",        "\"",
      "'",      ",",     ";",      "\x01",        "\xff",       "\xC3\xA9", "localhost", "10.0.0.1",
      "<path>", "<url>", "<host>", "<user@host>", "<redacted>", "x.gguf",   "\t",        "HOME",
      "path",   "1",     "*",      "`",           "&",          "?",        "{"};
  std::mt19937_64 random(11);
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    const size_t count = 1 + random() % 12;
    for (size_t k = 0; k < count; ++k) text += pieces[random() % std::size(pieces)];
    const std::string once = scrub(text);
    ASSERT_EQ(scrub(once), once) << "seed 11, text " << text;
    ASSERT_TRUE(is_utf8(once));
    for (const char c : once) {
      ASSERT_TRUE(c == '\t' || static_cast<unsigned char>(c) >= 0x20) << text;
    }
  }
}

TEST(Redact, HidesLinesThatTellGoldenTokens) {
  EXPECT_EQ(redact("Expected 17"), "token-validation-failed");
  EXPECT_EQ(redact("the ACTUAL value"), "token-validation-failed");
  EXPECT_EQ(redact("unexpected"), "token-validation-failed");  // holds "expected"
  EXPECT_EQ(redact("all well"), "all well");
}

TEST(Utf8, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(to_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_utf8("\xC3\xA9"), "\xC3\xA9");
  EXPECT_EQ(to_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut off in the middle
  EXPECT_EQ(to_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
}

TEST(Clip, KeepsHeadAndTailBetweenCharacters) {
  EXPECT_EQ(clip("short", 32), "short");
  const std::string clipped = clip(std::string(100, 'a') + std::string(100, 'z'), 40);
  EXPECT_LE(clipped.size(), 40U);
  EXPECT_EQ(clipped.front(), 'a');
  EXPECT_EQ(clipped.back(), 'z');
  EXPECT_NE(clipped.find("[clipped]"), std::string::npos);
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\xC3\xA9";
  for (size_t size = 32; size < 60; ++size) EXPECT_TRUE(is_utf8(clip(accents, size))) << size;
}

}  // namespace
}  // namespace assay::runner
