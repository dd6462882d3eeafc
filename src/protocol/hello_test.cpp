#include "protocol/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/refusals.h"
#include "protocol/verb.h"

namespace assay::protocol {
namespace {

using ::testing::HasSubstr;

Result<Hello> hello(std::string_view line) {
  const auto response = read_response(line);
  EXPECT_TRUE(response) << line;
  return check_hello(*response);
}

void expect_refused(std::string_view line, std::string_view code, const std::string& text) {
  const auto checked = hello(line);
  ASSERT_FALSE(checked) << line;
  EXPECT_EQ(checked.refusal().code, code);
  EXPECT_THAT(checked.refusal().detail, HasSubstr(text));
}

TEST(HelloCheck, FourKeysAreEnough) {
  const auto checked = hello(R"({"id":0,"nonce":"k7","ok":true,"protocol_version":1})");
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->nonce, "k7");
  EXPECT_TRUE(checked->capabilities.empty());
  EXPECT_TRUE(checked->spec_modes.empty());
  EXPECT_FALSE(checked->backend);
  EXPECT_FALSE(checked->resident);
}

TEST(HelloCheck, KeepsWhatItSays) {
  const auto checked = hello(
      R"({"id":0,"nonce":"k","ok":true,"protocol_version":1,"backend":"cpu","device":"x","capabilities":["free_run_decode"],"spec_modes":["serial"],"max_batch_size":8,"resident":{"pid":7,"load_epoch":9}})");
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->backend, "cpu");
  EXPECT_TRUE(checked->has_capability(kFreeRunDecode));
  EXPECT_FALSE(checked->has_capability(kBatchedFreeRunDecode));
  EXPECT_EQ(checked->resident->load_epoch, 9u);
  EXPECT_TRUE(check_capability(*checked, kFreeRunDecode));
  const auto absent = check_capability(*checked, kBatchedFreeRunDecode);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.refusal().code, kCapabilityNotAdvertised.code);
  EXPECT_TRUE(check_batch_width(*checked, 8));
  const auto wide = check_batch_width(*checked, 9);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.refusal().code, kBatchWidthExceedsEngineMax.code);
  EXPECT_TRUE(check_batch_width(Hello{}, 1000));  // no maximum advertised
}

TEST(HelloCheck, RefusesInTheStatedOrder) {
  // Everything wrong at once: each repair uncovers the next fault.
  expect_refused(R"({"id":1,"ok":false,"error":"no weights"})", kProtocol.code, "id 1");
  expect_refused(R"({"id":0,"ok":false,"error":"no weights"})", kProtocol.code, "no weights");
  expect_refused(R"({"id":0,"ok":true})", kProtocol.code, "nonce");
  expect_refused(R"({"id":0,"ok":true,"nonce":""})", kProtocol.code, "nonce");
  expect_refused(R"({"id":0,"ok":true,"nonce":"k"})", kProtocol.code, "protocol_version absent");
  expect_refused(R"({"id":0,"ok":true,"nonce":"k","protocol_version":2})", kProtocol.code,
                 "protocol_version 2");
  expect_refused(R"({"id":0,"ok":true,"nonce":"k","protocol_version":0})", kProtocol.code,
                 "protocol_version 0");
}

TEST(HelloCheck, AnEngineThatCannotStartIsQuoted) {
  expect_refused(R"({"id":-1,"ok":false,"error":"busy"})", kEngine.code, "busy");
}

TEST(HelloCheck, TheNonceIsPrintableAndBounded) {
  EXPECT_TRUE(
      check_hello({.id = 0, .nonce = std::string(256, 'n'), .ok = true, .protocol_version = 1}));
  for (const std::string& nonce : {std::string(257, 'n'), std::string("a\nb"), std::string("é")}) {
    EXPECT_FALSE(check_hello({.id = 0, .nonce = nonce, .ok = true, .protocol_version = 1}));
  }
}

void expect_reply_refused(std::string_view line, std::string_view code, const std::string& text) {
  const auto checked = check_reply(*read_response(line), 5, "k", "prefill");
  ASSERT_FALSE(checked) << line;
  EXPECT_EQ(checked.refusal().code, code);
  EXPECT_THAT(checked.refusal().detail, HasSubstr(text));
  EXPECT_THAT(checked.refusal().detail, HasSubstr("prefill"));
}

TEST(ReplyCheck, RefusesInTheOrderThatKeepsTheCauseVisible) {
  EXPECT_TRUE(check_reply(*read_response(R"({"id":5,"nonce":"k","ok":true})"), 5, "k", "prefill"));
  // The engine could not read the line: its text comes first, even with another nonce.
  expect_reply_refused(R"({"id":-1,"nonce":"other","ok":false,"error":"malformed"})", kEngine.code,
                       "malformed");
  expect_reply_refused(R"({"id":-1,"ok":false})", kEngine.code, "unknown error");
  // Nonce before id before ok.
  expect_reply_refused(R"({"id":6,"nonce":"other","ok":false,"error":"x"})", kNonceMismatch.code,
                       "another nonce");
  expect_reply_refused(R"({"id":6,"ok":true})", kNonceMismatch.code, "no nonce");
  expect_reply_refused(R"({"id":6,"nonce":"k","ok":false,"error":"x"})", kProtocol.code, "id 6");
  expect_reply_refused(R"({"id":-1,"nonce":"k","ok":true})", kProtocol.code, "id -1");
  expect_reply_refused(R"({"id":5,"nonce":"k","ok":false,"error":"out of memory"})", kEngine.code,
                       "out of memory");
  expect_reply_refused(R"({"id":5,"nonce":"k","ok":false})", kEngine.code, "unknown error");
}

}  // namespace
}  // namespace assay::protocol
