#include "protocol/step_lines.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "protocol/codec.h"

namespace assay::protocol {
namespace {

std::vector<int64_t> numbers() {
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 9,
                                 10,
                                 99999,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) values.push_back(static_cast<int64_t>(random() >> (i % 64)));
  return values;
}

TEST(StepLines, TheRequestIsTheCodecs) {
  for (const int64_t value : numbers()) {
    Request request;
    request.id = value;
    request.kind = "decode_step";
    request.token = -value / 2;
    std::string line;
    append_decode_step(line, {request.id, *request.token});
    EXPECT_EQ(line, write_request(request));
    const auto step = match_decode_step(line);
    ASSERT_TRUE(step) << line;
    EXPECT_EQ(step->id, request.id);
    EXPECT_EQ(step->token, request.token);
  }
}

TEST(StepLines, TheCodecsAnswerIsRecognised) {
  for (const int64_t value : numbers()) {
    Response response;
    response.id = value;
    response.nonce = "n0 !#$";
    response.ok = true;
    response.token = value;
    const std::string middle = token_answer_middle(*response.nonce);
    EXPECT_EQ(match_token_answer(write_response(response), value, middle), value);
    std::string line;
    append_token_answer(line, value, middle, value);
    EXPECT_EQ(line, write_response(response));
  }
}

TEST(StepLines, EveryOtherLineGoesToTheCodec) {
  const std::string middle = token_answer_middle("n");
  EXPECT_EQ(match_token_answer(R"({"id":7,"nonce":"n","ok":true,"token":5})", 7, middle), 5);
  for (const char* line :
       {R"({"id":8,"nonce":"n","ok":true,"token":5})",
        R"({"id":7,"nonce":"m","ok":true,"token":5})",
        R"({"id":7,"nonce":"n","ok":false,"token":5})",
        R"({"id":7,"nonce":"n","ok":true,"token":5.0})",
        R"({"id":7,"nonce":"n","ok":true,"token":05})",
        R"({"id":7,"nonce":"n","ok":true,"token":-0})",
        R"({"id":7,"nonce":"n","ok":true,"token":5}x)",
        R"({"id":7,"nonce":"n","ok":true,"token":5)", R"({"id":7,"nonce":"n","ok":true,"token":})",
        R"({"id":7,"nonce":"n","ok":true,"token":9e9})",
        R"({"id":7,"nonce":"n","ok":true,"token":99999999999999999999})",
        R"({"id":7,"nonce":"n","ok":true,"token":5,"x":1})",
        R"( {"id":7,"nonce":"n","ok":true,"token":5})",
        R"({"id":77,"nonce":"n","ok":true,"token":5})", "", "{"}) {
    EXPECT_EQ(match_token_answer(line, 7, middle), std::nullopt) << line;
  }
}

TEST(StepLines, EveryOtherRequestGoesToTheCodec) {
  for (const char* line :
       {R"({"id":7,"kind":"decode_step","token":05})",
        R"({"id":-0,"kind":"decode_step","token":5})",
        R"({"id":7,"kind":"decode_step","token":5.0})", R"({"id":7,"kind":"decode_step"})",
        R"({"id":7,"kind":"correctness_step","token":5})",
        R"({"kind":"decode_step","id":7,"token":5})",
        R"({"id":7,"kind":"decode_step","token":5,"count":1})",
        R"({"id":7,"kind":"decode_step","token":5})"
        " ",
        R"({"id":7,"kind":"decode_step","token":9223372036854775808})", ""}) {
    EXPECT_FALSE(match_decode_step(line)) << line;
  }
}

TEST(StepLines, ANonceThatNeedsEscapesIsLeftToTheCodec) {
  EXPECT_EQ(token_answer_middle("a\"b"), "");
  EXPECT_EQ(token_answer_middle("a\\b"), "");
  EXPECT_EQ(match_token_answer("{\"id\":7", 7, ""), std::nullopt);
}

}  // namespace
}  // namespace assay::protocol
