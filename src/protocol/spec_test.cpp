#include "protocol/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/refusals.h"
#include "protocol/verb.h"

namespace assay::protocol {
namespace {

using ::testing::HasSubstr;

SpecConfig spec(const std::string& text) {
  auto request = read_request(R"({"id":1,"kind":"x","spec":)" + text + "}");
  EXPECT_TRUE(request) << text;
  return request ? *request->spec : SpecConfig{};
}

bool honoured(const std::string& request, const std::string& echo) {
  return honours(spec(request), spec(echo));
}

TEST(Honours, EqualSerialSpecs) {
  EXPECT_TRUE(honoured(R"({"mode":"serial"})", R"({"mode":"serial"})"));
  EXPECT_FALSE(honours(serial_spec(), std::nullopt));
}

TEST(Honours, TheModeMustBeTheSame) {
  EXPECT_FALSE(honoured(R"({"mode":"serial"})", R"({"mode":"mtp"})"));
  EXPECT_FALSE(honoured(R"({"mode":"mtp","mtp":{"depth":2}})", R"({"mode":"serial"})"));
}

TEST(Honours, NoBlockMayAppearOrVanish) {
  EXPECT_FALSE(honoured(R"({"mode":"serial"})", R"({"mode":"serial","mtp":{"depth":1}})"));
  EXPECT_FALSE(honoured(R"({"mode":"serial"})", R"({"mode":"serial","dflash":{}})"));
  EXPECT_FALSE(honoured(R"({"mode":"serial"})", R"({"mode":"serial","dspark":{}})"));
  EXPECT_FALSE(honoured(R"({"mode":"mtp","mtp":{"depth":2}})", R"({"mode":"mtp"})"));
  EXPECT_FALSE(honoured(R"({"mode":"mtp"})", R"({"mode":"mtp","mtp":{"depth":2}})"));
  EXPECT_TRUE(honoured(R"({"mode":"mtp"})", R"({"mode":"mtp"})"));
  EXPECT_FALSE(honoured(R"({"mode":"dspark","dspark":{}})", R"({"mode":"dspark"})"));
}

TEST(Honours, AnExplicitDepthIsRepeatedAndAnOpenOneReported) {
  EXPECT_TRUE(
      honoured(R"({"mode":"mtp","mtp":{"depth":2}})", R"({"mode":"mtp","mtp":{"depth":2}})"));
  EXPECT_FALSE(
      honoured(R"({"mode":"mtp","mtp":{"depth":2}})", R"({"mode":"mtp","mtp":{"depth":1}})"));
  EXPECT_FALSE(honoured(R"({"mode":"mtp","mtp":{"depth":2}})", R"({"mode":"mtp","mtp":{}})"));
  EXPECT_TRUE(honoured(R"({"mode":"mtp","mtp":{}})", R"({"mode":"mtp","mtp":{"depth":6}})"));
  EXPECT_FALSE(honoured(R"({"mode":"mtp","mtp":{}})", R"({"mode":"mtp","mtp":{}})"));
}

TEST(Honours, OpaqueBlocksAreSubsets) {
  const auto dflash = [](const std::string& asked, const std::string& echoed) {
    return honoured(R"({"mode":"dflash","dflash":)" + asked + "}",
                    R"({"mode":"dflash","dflash":)" + echoed + "}");
  };
  EXPECT_TRUE(dflash("{}", R"({"depth":3})"));
  EXPECT_TRUE(dflash(R"({"a":{"b":1}})", R"({"depth":3,"a":{"c":2,"b":1}})"));
  EXPECT_TRUE(dflash(R"({"a":[1,2]})", R"({"a":[1,2],"depth":3})"));
  EXPECT_FALSE(dflash(R"({"a":[1,2]})", R"({"a":[2,1],"depth":3})"));  // reordered
  EXPECT_FALSE(dflash(R"({"a":[1]})", R"({"a":[1,2],"depth":3})"));    // an array is not a set
  EXPECT_FALSE(dflash(R"({"a":1})", R"({"a":2,"depth":3})"));
  EXPECT_FALSE(dflash(R"({"a":1})", R"({"depth":3})"));
  EXPECT_FALSE(dflash(R"({"a":1})", R"({"a":"1","depth":3})"));
  EXPECT_FALSE(dflash(R"({"a":{}})", R"({"a":[],"depth":3})"));
  EXPECT_TRUE(dflash(R"({"a":[{"x":1,"y":2}]})", R"({"a":[{"y":2,"x":1}],"depth":3})"));
  EXPECT_FALSE(dflash(R"({"a":[{"x":1}]})", R"({"a":[{"y":2,"x":1}],"depth":3})"));
  EXPECT_TRUE(dflash(R"({"a":1.50})", R"({"a":1.5,"depth":3})"));
}

TEST(Honours, DflashReportsAnUnsignedDepth) {
  const auto echoed = [](const std::string& block) {
    return honoured(R"({"mode":"dflash","dflash":{}})",
                    R"({"mode":"dflash","dflash":)" + block + "}");
  };
  EXPECT_TRUE(echoed(R"({"depth":0})"));
  EXPECT_TRUE(echoed(R"({"depth":4294967295})"));
  EXPECT_FALSE(echoed("{}"));
  EXPECT_FALSE(echoed(R"({"depth":4294967296})"));
  EXPECT_FALSE(echoed(R"({"depth":-1})"));
  EXPECT_FALSE(echoed(R"({"depth":1.0})"));
  EXPECT_FALSE(echoed(R"({"depth":"1"})"));
  // dspark reports no depth.
  EXPECT_TRUE(
      honoured(R"({"mode":"dspark","dspark":{"a":1}})", R"({"mode":"dspark","dspark":{"a":1}})"));
  EXPECT_FALSE(
      honoured(R"({"mode":"dspark","dspark":{"a":1}})", R"({"mode":"dspark","dspark":{}})"));
}

TEST(Spec, OnlyTheBlockOfItsModeMayBePresent) {
  EXPECT_TRUE(check_spec(serial_spec()));
  EXPECT_TRUE(check_spec(mtp_spec(3)));
  EXPECT_TRUE(check_spec(mtp_spec(std::nullopt)));
  EXPECT_TRUE(check_spec(spec(R"({"mode":"dflash","dflash":{}})")));
  EXPECT_TRUE(check_spec(spec(R"({"mode":"dspark","dspark":{}})")));
  for (const char* text : {R"({"mode":"serial","mtp":{}})", R"({"mode":"mtp","dflash":{}})",
                           R"({"mode":"dflash","dspark":{}})", R"({"mode":"dspark","mtp":{}})",
                           R"({"mode":"Serial"})", R"({"mode":""})", R"({"mode":"eagle"})"}) {
    const auto checked = check_spec(spec(text));
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.refusal().code, kSpecMalformed.code);
  }
}

TEST(Spec, AModeMustBeRunnable) {
  const std::vector<std::string> modes = {"serial", "mtp"};
  EXPECT_TRUE(check_spec_runnable(mtp_spec(2), modes));
  EXPECT_TRUE(check_spec_runnable(serial_spec(), {}));  // serial needs no advertisement
  const auto refused = check_spec_runnable(mtp_spec(2), std::vector<std::string>{"serial"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, kSpecModeNotRunnable.code);
  EXPECT_THAT(refused.refusal().detail, HasSubstr("[serial]"));
}

TEST(Spec, AnEchoThatDivergesIsNamed) {
  EXPECT_TRUE(check_spec_echo(mtp_spec(2), mtp_spec(2)));
  const auto other = check_spec_echo(mtp_spec(2), mtp_spec(1));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.refusal().code, kSpecEchoDivergence.code);
  EXPECT_THAT(other.refusal().detail, HasSubstr("depth 1"));
  EXPECT_THAT(check_spec_echo(mtp_spec(2), std::nullopt).refusal().detail, HasSubstr("nothing"));
}

TEST(Batch, TheWidthIsEchoed) {
  EXPECT_TRUE(check_batch_echo(8, 8, true));
  EXPECT_TRUE(check_batch_echo(8, std::nullopt, false));
  for (const auto& refused : {check_batch_echo(8, 7, true), check_batch_echo(8, 7, false),
                              check_batch_echo(8, std::nullopt, true)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().code, kBatchEchoDivergence.code);
  }
}

TEST(Verbs, NamesSeriesAndTimedSteps) {
  EXPECT_EQ(kVerbNames.size(), 10u);
  for (size_t i = 0; i < kVerbNames.size(); ++i) {
    EXPECT_EQ(find_verb(kVerbNames[i]), static_cast<Verb>(i));
  }
  EXPECT_FALSE(find_verb("Prefill"));
  EXPECT_FALSE(find_verb("hello"));
  EXPECT_EQ(verb_name(Verb::cohort_reference_replay), "cohort_reference_replay");
  int timed = 0;
  for (size_t i = 0; i < kVerbNames.size(); ++i) timed += is_timed_step(static_cast<Verb>(i));
  EXPECT_EQ(timed, 4);
  EXPECT_FALSE(is_timed_step(Verb::free_decode_begin));
  EXPECT_EQ(batched_series(8), "batched_free_run_v1_2_b8");
}

}  // namespace
}  // namespace assay::protocol
