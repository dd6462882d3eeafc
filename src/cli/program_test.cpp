#include "cli/program.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/ranges.h"

namespace assay::cli {
namespace {

class CliTest : public testing::Test {
 protected:
  Program program() {
    Program p;
    p.name = "tool";
    p.summary = "a tool";
    p.versions = {{"wire", "1"}};
    p.commands.push_back(
        {.name = "run",
         .summary = "Runs.",
         .example = "tool run --weights DIR",
         .flags = {{.names = {"--weights", "-m"},
                    .value_name = "DIR",
                    .help = "Weights.",
                    .required = true},
                   {.names = {"--steps"}, .value_name = "N", .help = "Steps.", .type = Type::u32},
                   {.names = {"--ratio"}, .value_name = "F", .help = "Ratio.", .type = Type::f64},
                   {.names = {"--golden"},
                    .arity = Arity::repeatable,
                    .value_name = "PATH",
                    .help = "Golden."},
                   {.names = {"--mode"},
                    .value_name = "M",
                    .help = "Mode.",
                    .choices = {"fast", "slow"}},
                   {.names = {"--cool"},
                    .arity = Arity::toggle,
                    .help = "Cool.",
                    .conflicts_with = {"--no-cool"}},
                   {.names = {"--no-cool"},
                    .arity = Arity::toggle,
                    .help = "No cool.",
                    .conflicts_with = {"--cool"}},
                   {.names = {"--depth"},
                    .arity = Arity::refused,
                    .help = "was renamed to --mtp-depth."}},
         .run = [this](const Invocation& invocation) {
           seen = invocation;
           return 0;
         }});
    p.commands.push_back({.name = "score verify",
                          .summary = "Verifies.",
                          .example = "tool score verify FILE",
                          .positionals = {{.name = "FILE", .help = "A file.", .repeatable = true}},
                          .run = [this](const Invocation& invocation) {
                            seen = invocation;
                            return 7;
                          }});
    p.commands.push_back({.name = "show",
                          .summary = "Shows.",
                          .example = "tool show FILE",
                          .positionals = {{.name = "FILE", .help = "A file."}},
                          .run = [this](const Invocation& invocation) {
                            seen = invocation;
                            return 8;
                          }});
    return p;
  }

  // Runs the program; `out` and `err` hold what it printed.
  int run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    table = program();
    const int exit = run_program(table, arguments);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return exit;
  }

  Program table;
  Invocation seen;
  std::string out, err;
};

TEST_F(CliTest, ReadsFlagsAliasesAndRepeats) {
  ASSERT_EQ(run({"run", "-m", "w", "--golden", "a", "--golden", "b", "--steps", "3", "--steps", "4",
                 "--cool"}),
            0);
  EXPECT_EQ(seen.text("--weights"), "w");
  EXPECT_EQ(seen.all("--golden"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(seen.u32("--steps"), 4u);  // the last wins
  EXPECT_TRUE(seen.has("--cool"));
  EXPECT_FALSE(seen.has("--no-cool"));
  EXPECT_EQ(seen.f64("--ratio"), std::nullopt);
  EXPECT_EQ(seen.name(), "tool run");
}

TEST_F(CliTest, TakesATokenThatLooksLikeAFlagAsTheValue) {
  ASSERT_EQ(run({"run", "--weights", "-5"}), 0) << err;
  EXPECT_EQ(seen.text("--weights"), "-5");
}

TEST_F(CliTest, NestedVerbsAndPositionals) {
  EXPECT_EQ(run({"score", "verify", "x", "y"}), 7);
  EXPECT_EQ(seen.arguments("FILE"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(run({"show", "x"}), 8);
  EXPECT_EQ(seen.arguments("FILE"), std::vector<std::string>{"x"});
}

TEST_F(CliTest, TextsOfOthersDoNotSteerTheTerminal) {
  ASSERT_EQ(run({"show", "x"}), 8);
  testing::internal::CaptureStderr();
  seen.progress("a\x1b[31mb\r\tc\nd");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tool show: a\\x1b[31mb\\x0d\tc\nd\n");
}

TEST_F(CliTest, RefusesWrongLinesByName) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run"}, "USAGE-MISSING-FLAG: missing required --weights"},
      {{"run", "--weights"}, "USAGE-MISSING-VALUE: flag --weights requires a value"},
      {{"run", "-m", "w", "--x"}, "USAGE-UNKNOWN-FLAG: unknown flag \"--x\""},
      {{"run", "-m", "w", "stray"}, "USAGE-UNKNOWN-FLAG: unexpected argument \"stray\""},
      {{"run", "-m", "w", "--steps", "-1"}, "USAGE-INVALID-VALUE: invalid u32 for --steps: \"-1\""},
      {{"run", "-m", "w", "--steps", "x", "--steps", "4"},
       "USAGE-INVALID-VALUE: invalid u32 for --steps: \"x\""},
      {{"run", "-m", "w", "--ratio", "1,5"},
       "USAGE-INVALID-VALUE: invalid f64 for --ratio: \"1,5\""},
      {{"run", "-m", "w", "--mode", "x"},
       "USAGE-INVALID-VALUE: invalid --mode \"x\" (expected fast, slow)"},
      {{"run", "-m", "w", "--cool", "--no-cool"}, "conflicts with"},
      {{"run", "-m", "w", "--depth", "2"},
       "USAGE-REFUSED-FLAG: flag --depth was renamed to --mtp-depth."},
      {{"score", "verify"}, "USAGE-MISSING-FLAG: missing required FILE"},
      {{"show", "x", "y"}, "USAGE-UNKNOWN-FLAG: unexpected argument \"y\""},
      {{"walk"}, "USAGE-UNKNOWN-COMMAND: unknown subcommand \"walk\""},
      {{"score"}, "USAGE-UNKNOWN-COMMAND: unknown subcommand \"score\""}};
  for (const auto& [arguments, expected] : cases) {
    EXPECT_EQ(run(arguments), 2) << expected;
    EXPECT_NE(err.find(expected), std::string::npos) << err;
    EXPECT_EQ(out, "");
    EXPECT_NE(err.find("Usage:"), std::string::npos);
  }
}

TEST_F(CliTest, NumbersOutsideTheirRangeAreNamed) {
  const auto why = [&](std::vector<std::string> line) {
    line.insert(line.begin(), {"run", "-m", "w"});
    EXPECT_EQ(run(line), 0);
    return out_of_range(seen, {{"--steps", 1, 65535}}).value_or("");
  };
  for (const char* good : {"1", "65535"}) EXPECT_EQ(why({"--steps", good}), "");
  EXPECT_EQ(why({}), "");
  for (const char* bad : {"0", "65536", "99999999"})
    EXPECT_EQ(why({"--steps", bad}), cat("--steps takes 1 to 65535, not ", bad));
}

TEST_F(CliTest, RefusalAsJson) {
  EXPECT_EQ(run({"run", "--json"}), 2);
  const auto value = json::parse(out);
  ASSERT_TRUE(value) << out;
  EXPECT_EQ(value->find("refusal")->string(), "USAGE-MISSING-FLAG");
  EXPECT_EQ(value->find("exit")->literal(), "2");
  EXPECT_FALSE(value->find("ok")->boolean());
}

TEST_F(CliTest, HelpShowsTheExampleFirst) {
  EXPECT_EQ(run({"run", "--weights", "--help"}), 0);
  EXPECT_EQ(out.rfind("Example:\n  tool run --weights DIR", 0), 0u);
  EXPECT_EQ(out.find("--depth"), std::string::npos);
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_NE(out.find("score verify"), std::string::npos);
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(out, "");
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_NE(out.find("commit "), std::string::npos);
  EXPECT_NE(out.find("wire 1"), std::string::npos);
}

TEST_F(CliTest, CompletionAndManNameEveryFlag) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"completion", "bash"}, {"completion", "zsh"}}) {
    EXPECT_EQ(run(arguments), 0);
    for (const char* flag : {"--weights", "--golden", "score"})
      EXPECT_NE(out.find(flag), std::string::npos);
    EXPECT_EQ(out.find("--depth"), std::string::npos);
  }
  EXPECT_EQ(run({"man"}), 0);
  EXPECT_NE(out.find(".TH TOOL 1"), std::string::npos);
  EXPECT_NE(out.find("\\-\\-weights"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
