#include "scoring/tape.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace assay::scoring {
namespace {

constexpr std::string_view kTape =
    R"({"seed_tokens":[11,12],"reference_seed_token":7,
        "rows":[{"sequential_argmax":8,"top2_tokens":[8,5],"top2_logits":[12.5,12.25],"top1_logit":12.5},
                {"sequential_argmax":9}],
        "reference_self_consistent":true,"emitted_tokens":[8,9]})";

std::string code(std::string_view bytes, uint32_t vocab = 20) {
  const auto tape = parse_tape(bytes, vocab);
  return tape ? "accepted" : std::string(tape.refusal().code);
}
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kTape);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Tape, BecomesATimedOracle) {
  const auto tape = parse_tape(kTape, 20);
  ASSERT_TRUE(tape) << tape.refusal().text();
  const TimedOracle oracle = timed_oracle(*tape);
  EXPECT_EQ(oracle.decode_seed_tokens, (Tokens{11, 12}));
  EXPECT_EQ(oracle.expected_decode_seed_token, 7);
  EXPECT_EQ(oracle.expected_decode_tokens, (Tokens{8, 9}));
}

TEST(Tape, Refusals) {
  EXPECT_EQ(code(changed("true", "false")), "TAPE-NOT-SELF-CONSISTENT");
  EXPECT_EQ(code(changed("[8,9]", "[8]")), "TAPE-EMITTED-MISMATCH");
  const auto differs = parse_tape(changed("[8,9]", "[8,6,1]"), 20);
  EXPECT_EQ(differs.refusal().code, "TAPE-EMITTED-MISMATCH");
  EXPECT_NE(differs.refusal().detail.find("emitted_tokens[1]"), std::string::npos);  // index first
  EXPECT_EQ(code(kTape, 12), "TAPE-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(code(changed("\"reference_seed_token\":7", "\"reference_seed_token\":-1")),
            "TAPE-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(code(changed("[11,12]", "[]")), "TAPE-EMPTY");
  EXPECT_EQ(code(R"({"seed_tokens":[1],"reference_seed_token":1,"rows":[]})"), "TAPE-EMPTY");
  EXPECT_EQ(code(changed("\"top1_logit\"", "\"top_logit\"")), "JSON-UNKNOWN-KEY");
  EXPECT_EQ(code(R"({"seed_tokens":[1],"rows":[{"sequential_argmax":1}]})"), "JSON-MISSING-KEY");
}

TEST(Tape, RoutingLooksAtKeysOnly) {
  EXPECT_EQ(*oracle_kind(*json::parse(kTape)), OracleKind::tape);
  EXPECT_EQ(*oracle_kind(*json::parse(R"({"cases":1})")), OracleKind::golden);
  EXPECT_EQ(*oracle_kind(
                *json::parse(R"({"cases":1,"seed_tokens":1,"reference_seed_token":1,"rows":1})")),
            OracleKind::tape);
  EXPECT_EQ(*oracle_kind(*json::parse(R"({"cases":1,"seed_tokens":1,"rows":1})")),
            OracleKind::golden);
  EXPECT_EQ(oracle_kind(*json::parse(R"({"seed_tokens":1,"rows":1})")).refusal().code,
            "ORACLE-UNRECOGNISED");
  EXPECT_EQ(oracle_kind(*json::parse("[]")).refusal().code, "ORACLE-UNRECOGNISED");
}

TEST(Tape, PublishedSample) {
  const std::filesystem::path path =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/samples/scoring/timed_prompt_tape.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  const auto tape = parse_tape(*read_file(path), 248320);
  ASSERT_TRUE(tape) << tape.refusal().text();
  EXPECT_EQ(timed_oracle(*tape).expected_decode_tokens, (Tokens{8, 9, 8}));
}

}  // namespace
}  // namespace assay::scoring
