// assay-load probe as a person runs it: a process, a server, a file, an exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "process.h"
#include "support/chat_model.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using json::Value;
using support::ChatAnswer;
using support::ChatModel;
using support::ChatQuestion;
using support::Reply;
using testing::HasSubstr;

class LoadProbe : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-probe-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  e2e::ProcessRequest request(const std::string& base_url, std::vector<std::string> further = {}) {
    e2e::ProcessRequest out{.argv = {std::string(ASSAY_BIN_DIR) + "/assay-load", "probe",
                                     "--base-url", base_url, "--max-tokens", "8", "--repeats", "3",
                                     "--retry-interval", "0", "--out", file().string()},
                            .working_directory = folder_,
                            .environment = {},
                            .file_bytes_max = {}};
    out.argv.insert(out.argv.end(), further.begin(), further.end());
    return out;
  }
  fs::path file() const { return folder_ / "probe.json"; }
  Value document() const {
    const auto bytes = read_file(file());
    EXPECT_TRUE(bytes);
    const auto parsed = bytes ? json::parse(*bytes) : Result<Value>(Value());
    EXPECT_TRUE(parsed);
    return parsed && parsed->is_object() ? *parsed : Value::object();
  }
  std::string text(std::string_view key) const {
    const Value doc = document();
    const Value* value = doc.find(key);
    return value != nullptr && value->is_string() ? value->string() : "";
  }

  fs::path folder_;
};

// From the n-th chat request on, silence.
std::unique_ptr<ChatModel> silent_from(int64_t n) {
  return std::make_unique<ChatModel>(ChatModel::Answer{},
                                     [n](const ChatQuestion& question) -> std::optional<Reply> {
                                       if (question.index < n) return std::nullopt;
                                       return Reply{.end = Reply::End::hang};
                                     });
}

TEST_F(LoadProbe, SuccessIsZeroWithAFileAndAShortReport) {
  ChatModel model;
  const auto result = e2e::run_process(request(model.server().base_url()));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("success: fake, prompt"));
  EXPECT_THAT(result.out, HasSubstr("cumulative: "));
  EXPECT_THAT(result.err, HasSubstr("run 3 of 3"));
  EXPECT_EQ(text("cell_status"), "success");
}

TEST_F(LoadProbe, JsonNamesTheRefusal) {
  const auto result = e2e::run_process(
      request(cat("http://127.0.0.1:", support::unused_port(), "/v1"), {"--json", "--quiet"}));
  const auto parsed = json::parse(result.out);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->find("ok")->boolean());
  EXPECT_EQ(parsed->find("refusal")->string(), "LOAD-CONNECT");
  EXPECT_EQ(parsed->find("exit")->literal(), "4");
  EXPECT_EQ(result.exit_code, 4);
}

TEST_F(LoadProbe, JsonHoldsTheDocumentAndQuietIsQuiet) {
  ChatModel model;
  const auto result = e2e::run_process(request(model.server().base_url(), {"--json", "--quiet"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  const auto parsed = json::parse(result.out);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->find("ok")->boolean());
  EXPECT_TRUE(*parsed->find("probe") == document());
}

TEST_F(LoadProbe, WithoutOutTheFileHasTheTimeInItsName) {
  ChatModel model;
  auto plain = request(model.server().base_url());
  plain.argv.erase(plain.argv.end() - 2, plain.argv.end());
  EXPECT_EQ(e2e::run_process(plain).exit_code, 0);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    files += entry.path().filename().string().starts_with("probe-20") ? 1 : 0;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(LoadProbe, NobodyListeningIsNotReadyAtOnce) {
  const auto result =
      e2e::run_process(request(cat("http://127.0.0.1:", support::unused_port(), "/v1")));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("LOAD-CONNECT"));
  EXPECT_EQ(text("cell_status"), "aborted");
}

TEST_F(LoadProbe, AModelThatDoesNotAnswerIsNotReady) {
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return ChatModel::error(400, "not loaded");
  });
  const auto result = e2e::run_process(request(model.server().base_url()));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("LOAD-PREFLIGHT"));
}

TEST_F(LoadProbe, WhatTheServerSaysDoesNotSteerTheTerminalNorForgeALine) {
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return ChatModel::error(400, "\x1b[2Jgone\nsuccess: fake");
  });
  const auto result = e2e::run_process(request(model.server().base_url()));
  EXPECT_EQ(result.exit_code, 4);
  for (const std::string& said : {result.out, result.err}) {
    EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
    EXPECT_EQ(said.find("\nsuccess"), std::string::npos) << said;
  }
  EXPECT_THAT(result.out, HasSubstr("HTTP 400: \\x1b[2Jgone\\x0asuccess: fake\n"));
}

TEST_F(LoadProbe, AFailedMeasurementIsOne) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.cached_tokens = 3}; });
  const auto result = e2e::run_process(request(model.server().base_url()));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("LOAD-CACHED-TOKENS"));
  EXPECT_EQ(text("cell_status"), "failed");
}

TEST_F(LoadProbe, ErrorsAreAllowedAsDeclaredAndCounted) {
  // Of the three measured requests the second is answered with 500.
  const auto run = [this](std::vector<std::string> flags) {
    ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
      if (question.index != 3) return std::nullopt;
      return ChatModel::error(500, "out of luck");
    });
    return e2e::run_process(request(model.server().base_url(), std::move(flags)));
  };
  const auto refused = run({});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, HasSubstr("LOAD-ERROR-RATE: 1 of 3 measured requests"));
  EXPECT_EQ(text("cell_status"), "failed");
  const auto allowed = run({"--max-error-rate", "0.34", "--force"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.out;
  EXPECT_THAT(allowed.out, HasSubstr("2 runs (median"));
  EXPECT_THAT(allowed.out,
              HasSubstr(R"(errors: 1 of 3 answers, in no figure; statuses {"200":2,"500":1})"));
  for (const char* share : {"1", "-0.1"}) {
    const auto wrong = run({"--max-error-rate", share});
    EXPECT_EQ(wrong.exit_code, 2) << share;
    EXPECT_THAT(wrong.err, HasSubstr("--max-error-rate takes a share"));
  }
}

TEST_F(LoadProbe, ACellThatDoesNotExistIsNoFailure) {
  ChatModel model;
  const auto result = e2e::run_process(
      request(model.server().base_url(), {"--prompt-tokens", "1000", "--window", "1000"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(text("cell_status"), "not_applicable");
}

TEST_F(LoadProbe, AFileThatCannotBeWrittenIsThree) {
  ChatModel model;
  const auto result =
      e2e::run_process(request(model.server().base_url(), {"--out", "/proc/nothing/probe.json"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("FILE-NOT-WRITTEN"));
  EXPECT_TRUE(model.server().requests().empty());
}

TEST_F(LoadProbe, AMeasurementIsNeverOverwrittenUnlessItIsSaid) {
  ChatModel model;
  ASSERT_TRUE(write_file_atomic(file(), "an old measurement"));
  const auto refused = e2e::run_process(request(model.server().base_url()));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("LOAD-OUT-EXISTS"));
  EXPECT_TRUE(model.server().requests().empty());
  EXPECT_EQ(*read_file(file()), "an old measurement");
  EXPECT_EQ(e2e::run_process(request(model.server().base_url(), {"--force"})).exit_code, 0);
  EXPECT_EQ(text("cell_status"), "success");
}

TEST_F(LoadProbe, WrongCommandLinesAreTwoAndSendNothing) {
  ChatModel model;
  const std::string url = model.server().base_url();
  for (const std::vector<std::string>& further : {std::vector<std::string>{"--repeats", "0"},
                                                  {"--max-tokens", "0"},
                                                  {"--width", "-1"},
                                                  {"--think-value", "off"},
                                                  {"--think-kwarg", "x"},
                                                  {"--extra-body", "[1]"},
                                                  {"--extra-body", R"({"max_tokens":9})"},
                                                  {"--extra-body", R"({"stream":false})"},
                                                  {"--repeats", "10001"},
                                                  {"--window", "99999999"},
                                                  {"--timeout", "0"},
                                                  {"--api-key-env", "ASSAY_NO_SUCH_NAME"},
                                                  {"--prefix-policy", "none"},
                                                  {"--timeout", "nan"},
                                                  {"--base-url", "https://127.0.0.1/v1"},
                                                  {"--base-url", "localhost:1"},
                                                  {"--nonsense"}}) {
    const auto result = e2e::run_process(request(url, further));
    EXPECT_EQ(result.exit_code, 2) << further[0] << " " << result.err;
    EXPECT_FALSE(fs::exists(file())) << further[0];
  }
  EXPECT_TRUE(model.server().requests().empty());
}

TEST_F(LoadProbe, TheKeyIsSentAndWrittenNowhere) {
  ChatModel model;
  auto with_key = request(model.server().base_url(), {"--api-key-env", "MY_KEY", "--json"});
  with_key.environment["MY_KEY"] = "sk-very-private";
  const auto result = e2e::run_process(with_key);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(model.server().requests().back().head,
              HasSubstr("Authorization: Bearer sk-very-private\r\n"));
  const auto bytes = read_file(file());
  ASSERT_TRUE(bytes);
  for (const std::string& said : {result.out, result.err, *bytes}) {
    EXPECT_EQ(said.find("sk-very-private"), std::string::npos);
  }
}

TEST_F(LoadProbe, AnInterruptLeavesATruthfulFile) {
  const auto model = silent_from(3);
  e2e::Process process(request(model->server().base_url()));
  EXPECT_NE(process.wait_for_line("run 2 of 3"), "");
  process.signal(SIGINT);
  const auto result = process.wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(text("cell_status"), "aborted");
  EXPECT_EQ(text("phase"), "sequential");
  EXPECT_THAT(text("aborted"), HasSubstr("signal 2"));
}

TEST_F(LoadProbe, AKillLeavesATruthfulFile) {
  const auto model = silent_from(3);
  e2e::Process process(request(model->server().base_url()));
  EXPECT_NE(process.wait_for_line("run 2 of 3"), "");
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  EXPECT_EQ(text("cell_status"), "aborted");
  EXPECT_EQ(text("phase"), "sequential");
  const Value doc = document();
  EXPECT_EQ(doc.find("sequential_runs")->items().size(), 1u);  // what was done is there
  EXPECT_EQ(doc.find("sequential")->find("cumulative_tok_s"), nullptr);
}

TEST_F(LoadProbe, HelpShowsAnExampleFirst) {
  const auto result =
      e2e::run_process({.argv = {std::string(ASSAY_BIN_DIR) + "/assay-load", "probe", "--help"},
                        .working_directory = folder_,
                        .environment = {},
                        .file_bytes_max = {}});
  EXPECT_EQ(result.exit_code, 0);
  const size_t example = result.out.find("assay-load probe --base-url");
  ASSERT_NE(example, std::string::npos);
  EXPECT_LT(example, result.out.find("--max-tokens N"));
}

}  // namespace
}  // namespace assay
