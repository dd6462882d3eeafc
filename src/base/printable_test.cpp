#include "base/printable.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::string_view_literals;

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable("caf\xC3\xA9\ttab\nnext \\x1b {}"), "caf\xC3\xA9\ttab\nnext \\x1b {}");
  EXPECT_EQ(printable(""), "");
  // U+00A0 is the first behind the controls, and has the same first byte.
  EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0");
}

TEST(Printable, EscapesWhatSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("over\rwritten\x07\x7f"), "over\\x0dwritten\\x07\\x7f");
  EXPECT_EQ(printable("\0"sv), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m");  // U+009B begins a sequence by itself
  EXPECT_EQ(printable("\xC2\x80\xC2\x9F"), "\\xc2\\x80\\xc2\\x9f");
}

TEST(Printable, ALineStaysOne) {
  EXPECT_EQ(printable_line("fine\n2026-01-01T00:00:00Z ERROR forged"),
            "fine\\x0a2026-01-01T00:00:00Z ERROR forged");
  EXPECT_EQ(printable_line("a\tb"), "a\tb");
}

}  // namespace
}  // namespace assay
