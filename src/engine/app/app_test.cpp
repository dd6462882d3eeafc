// assay-engine from outside: what scripts and judges see of the real program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "support/tiny_model.h"

namespace assay::engine::app {
namespace {

namespace fs = std::filesystem;
using test::TinyModel;

const std::string kEngine = ASSAY_BIN_DIR "/assay-engine";

struct Outcome {
  int exit = -1;
  std::string out;
  std::string err;
};

// Runs the program with its output in files, so that no pipe can fill up.
class Runner {
 public:
  Runner() {
    static int count = 0;
    folder_ = fs::path(testing::TempDir()) / cat("assay_engine_app_", getpid(), "_", count++);
    fs::create_directories(folder_);
  }
  ~Runner() { fs::remove_all(folder_); }

  [[nodiscard]] const fs::path& folder() const { return folder_; }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string put(const std::string& name, const TinyModel& model) const {
    return put(name, model.bytes());
  }

  // `environment` entries are NAME=VALUE.
  pid_t start(std::vector<std::string> arguments, const std::string& input,
              const std::vector<std::string>& environment, int out_fd = -1) const {
    const std::string in = put("stdin", input);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    dup2(open(in.c_str(), O_RDONLY), 0);
    const int out = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(out_fd >= 0 ? out_fd : open((folder_ / "stdout").c_str(), out, 0600), 1);
    dup2(open((folder_ / "stderr").c_str(), out, 0600), 2);
    for (const std::string& entry : environment) putenv(strdup(entry.c_str()));
    arguments.insert(arguments.begin(), kEngine);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(kEngine.c_str(), argv.data());
    _exit(127);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  Outcome run(const std::vector<std::string>& arguments, const std::string& input = "",
              const std::vector<std::string>& environment = {}) const {
    Outcome outcome;
    outcome.exit = wait_for(start(arguments, input, environment));
    outcome.out = *read_file(folder_ / "stdout");
    outcome.err = *read_file(folder_ / "stderr");
    return outcome;
  }

 private:
  fs::path folder_;
};

TinyModel text_model(uint32_t context_length = 512) {
  TinyModel tiny("llama", {.n_vocab = 259, .context_length = context_length});
  tiny.add_byte_tokenizer();
  tiny.quantise(8);
  return tiny;
}

json::Value parsed(const Outcome& outcome) {
  const auto value = json::parse(outcome.out);
  EXPECT_TRUE(value) << outcome.out << outcome.err;
  return value ? *value : json::Value();
}

std::string last_line(const std::string& text) {
  std::string_view view = text;
  if (view.ends_with('\n')) view.remove_suffix(1);
  return std::string(view.substr(view.rfind('\n') + 1));
}

// The known answer of ../shared/models/README.md.
TEST(Generate, Stories260K) {
  const std::string model = ASSAY_SOURCE_DIR "/../shared/models/stories260K.gguf";
  if (!fs::exists(model)) GTEST_SKIP() << model << " is not there";
  const Runner runner;
  const auto outcome = runner.run({"generate", "-m", model, "-p", "Once upon a time", "-n", "24",
                                   "--temperature", "0", "--print-ids"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(last_line(outcome.out),
            "432 383 286 261 376 298 315 421 395 317 426 338 401 396 267 337 410 408 419 292 411 "
            "322 265 282");
  EXPECT_TRUE(outcome.out.starts_with(", there was a little girl named Lily.")) << outcome.out;
}

TEST(Generate, DigestIsTheSameEverywhere) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  std::string expected;
  for (const char* isa : {"scalar", "avx2", "avx512vnni"}) {
    for (const char* threads : {"1", "2", "3"}) {
      const auto outcome =
          runner.run({"generate", "-m", model, "-p", "abc", "-n", "20", "--temperature", "0",
                      "--logits-digest", "--threads", threads},
                     "", {cat("ASSAY_FORCE_ISA=", isa)});
      if (outcome.exit == 4) continue;  // a table that this machine cannot run
      ASSERT_EQ(outcome.exit, 0) << outcome.err;
      const std::string digest = last_line(outcome.out);
      EXPECT_TRUE(is_lower_hex(digest, 64)) << digest;
      if (expected.empty()) expected = digest;
      EXPECT_EQ(digest, expected) << isa << ", " << threads;
    }
  }
}

TEST(Generate, JsonHasTextAndIds) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  const auto value = parsed(runner.run(
      {"generate", "-m", model, "-p", "ab", "-n", "5", "--temperature", "0", "--json", "--stats"}));
  ASSERT_NE(value.find("ids"), nullptr);
  EXPECT_LE(value.find("ids")->items().size(), 5u);
  // BOS, three bytes of U+2581 for the space in front, "ab": bytes are tokens 3 + value.
  EXPECT_EQ(*value.find("prompt_ids")->as_int64s("prompt_ids"),
            (std::vector<int64_t>{1, 3 + 0xE2, 3 + 0x96, 3 + 0x81, 3 + 'a', 3 + 'b'}));
  EXPECT_NE(value.find("text"), nullptr);
  EXPECT_NE(value.find("stats")->find("peak_resident_bytes"), nullptr);
}

TEST(Generate, SeedDecides) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  const auto ids = [&](const char* seed) {
    return json::write(*parsed(runner.run({"generate", "-m", model, "-p", "x", "-n", "30",
                                           "--min-p", "0", "--seed", seed, "--json"}))
                            .find("ids"));
  };
  EXPECT_EQ(ids("7"), ids("7"));
  EXPECT_NE(ids("7"), ids("8"));
}

TEST(Generate, PromptFromFile) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  const auto prompt = runner.put("prompt.txt", "abc\n");
  const auto a = runner.run(
      {"generate", "-m", model, "-f", prompt, "-n", "4", "--temperature", "0", "--print-ids"});
  const auto b = runner.run(
      {"generate", "-m", model, "-p", "abc\n", "-n", "4", "--temperature", "0", "--print-ids"});
  EXPECT_EQ(a.exit, 0);
  EXPECT_EQ(a.out, b.out);
}

TEST(Generate, CtrlCEndsCleanly) {
  TinyModel tiny = text_model(200000);
  // Only a byte of the alphabet can win: no end token stops it.
  auto& output = tiny.tensor("output.weight").values;
  std::fill(output.begin(), output.end(), 0.0f);
  tiny.keys.erase("tokenizer.ggml.eos_token_id");
  const Runner runner;
  const auto model = runner.put("m.gguf", tiny);
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t pid = runner.start({"generate", "-m", model, "-p", "a", "-n", "100000", "--ctx",
                                  "150000", "--min-p", "0", "--seed", "1"},
                                 "", {}, pipe_fds[1]);
  close(pipe_fds[1]);
  char byte = 0;
  ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);  // it streams: text is here before the end
  kill(pid, SIGINT);
  std::string rest;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(pipe_fds[0], buffer, sizeof buffer)) > 0;) {
    rest.append(buffer, static_cast<size_t>(n));
  }
  close(pipe_fds[0]);
  EXPECT_EQ(Runner::wait_for(pid), 130);
  EXPECT_TRUE(rest.ends_with('\n'));
}

// With an output of zeros every token is equally likely: the perplexity is the vocabulary's size.
TEST(Perplexity, OfAUniformModelIsTheVocabulary) {
  TinyModel tiny = text_model();
  auto& output = tiny.tensor("output.weight").values;
  std::fill(output.begin(), output.end(), 0.0f);
  const Runner runner;
  const auto model = runner.put("m.gguf", tiny);
  const auto text = runner.put("text.txt", std::string(100, 'q'));
  const auto value =
      parsed(runner.run({"perplexity", "-m", model, "-f", text, "--ctx", "32", "--json"}));
  EXPECT_NEAR(*value.find("perplexity")->as_double("perplexity"), 259.0, 259.0 * 1e-6);
  // BOS + 3 + 100 = 104 tokens: 3 chunks of 32; each counts positions 16..30, 15 tokens.
  EXPECT_EQ(*value.find("chunks")->as_int64("chunks"), 3);
  EXPECT_EQ(*value.find("tokens")->as_int64("tokens"), 45);
}

TEST(Bench, ReportsRatesWithTheirSpread) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  const auto value =
      parsed(runner.run({"bench", "-m", model, "-p", "16", "-n", "4", "-r", "3", "--json"}));
  for (const char* part : {"prefill", "decode"}) {
    const json::Value* series = value.find(part);
    ASSERT_NE(series, nullptr);
    EXPECT_EQ(series->find("seconds")->items().size(), 3u);
    const auto rate = [&](const char* key) { return *series->find(key)->as_double(key); };
    EXPECT_LE(rate("tok_per_s_min"), rate("tok_per_s"));
    EXPECT_LE(rate("tok_per_s"), rate("tok_per_s_max"));
  }
}

struct Refused {
  const char* name;
  std::vector<std::string> arguments;  // "MODEL" stands for a sound model, "TEXT" for a short text
  int exit;
  const char* code;
  std::vector<std::string> environment = {};
};
std::ostream& operator<<(std::ostream& out, const Refused& refused) {
  return out << refused.name;
}

class AppRefusal : public testing::TestWithParam<Refused> {};

TEST_P(AppRefusal, IsOneJsonObjectWithItsExitCode) {
  const Refused& refused = GetParam();
  const Runner runner;
  auto arguments = refused.arguments;
  for (std::string& argument : arguments) {
    if (argument == "MODEL") argument = runner.put("m.gguf", text_model());
    if (argument == "TEXT") argument = runner.put("text.txt", "short");
    if (argument == "UNTOKENIZED") {
      argument = runner.put("m.gguf", TinyModel("llama", {}));
    }
  }
  const auto plain = runner.run(arguments, "", refused.environment);
  EXPECT_EQ(plain.exit, refused.exit);
  EXPECT_NE(plain.err.find(refused.code), std::string::npos) << plain.err;
  EXPECT_EQ(plain.out, "");
  arguments.push_back("--json");
  const auto outcome = runner.run(arguments, "", refused.environment);
  EXPECT_EQ(outcome.exit, refused.exit);
  const auto value = parsed(outcome);
  EXPECT_EQ(value.find("refusal")->string(), refused.code);
  EXPECT_EQ(*value.find("exit")->as_int64("exit"), refused.exit);
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, AppRefusal,
    testing::Values(
        Refused{"no_model", {"generate", "-p", "a"}, 2, "USAGE-MISSING-FLAG"},
        Refused{"no_prompt", {"generate", "-m", "MODEL"}, 2, "USAGE-INVALID-VALUE"},
        Refused{"two_prompts",
                {"generate", "-m", "MODEL", "-p", "a", "-f", "TEXT"},
                2,
                "USAGE-CONFLICT"},
        Refused{"model_missing",
                {"generate", "-m", "/nonexistent.gguf", "-p", "a"},
                3,
                "FILE-UNREADABLE"},
        Refused{"model_not_gguf", {"generate", "-m", "TEXT", "-p", "a"}, 3, "GGUF-NOT-GGUF"},
        Refused{"prompt_file_missing",
                {"generate", "-m", "MODEL", "-f", "/nonexistent"},
                3,
                "FILE-UNREADABLE"},
        Refused{
            "no_tokenizer", {"generate", "-m", "UNTOKENIZED", "-p", "a"}, 3, "GGUF-KEY-MISSING"},
        Refused{"temperature",
                {"generate", "-m", "MODEL", "-p", "a", "--temperature", "1e9"},
                2,
                "DECODE-SAMPLING"},
        Refused{"top_k",
                {"generate", "-m", "MODEL", "-p", "a", "--top-k", "2000"},
                2,
                "DECODE-SAMPLING"},
        Refused{"context_too_long",
                {"generate", "-m", "MODEL", "-p", "a", "--ctx", "513"},
                2,
                "DECODE-CONTEXT-SIZE"},
        Refused{"prompt_too_long",
                {"generate", "-m", "MODEL", "-p", "abcdefgh", "--ctx", "8"},
                2,
                "DECODE-CONTEXT"},
        Refused{"drafting",
                {"generate", "-m", "MODEL", "-p", "a", "--mtp-depth", "1"},
                2,
                "DECODE-NO-DRAFT-HEAD"},
        Refused{"bench_drafting",
                {"bench", "-m", "MODEL", "--mtp-depth", "0,3"},
                2,
                "DECODE-NO-DRAFT-HEAD"},
        Refused{"bench_nothing",
                {"bench", "-m", "MODEL", "-p", "0", "-n", "0"},
                2,
                "USAGE-INVALID-VALUE"},
        Refused{"bench_no_repeats", {"bench", "-m", "MODEL", "-r", "0"}, 2, "USAGE-INVALID-VALUE"},
        Refused{"threads", {"bench", "-m", "MODEL", "--threads", "2000"}, 2, "BACKEND-THREADS"},
        Refused{"isa", {"bench", "-m", "MODEL"}, 4, "KERNEL-ISA-UNKNOWN", {"ASSAY_FORCE_ISA=mmx"}},
        Refused{"short_text",
                {"perplexity", "-m", "MODEL", "-f", "TEXT"},
                3,
                "PERPLEXITY-TEXT-TOO-SHORT"},
        Refused{"short_ctx",
                {"perplexity", "-m", "MODEL", "-f", "TEXT", "--ctx", "2"},
                2,
                "USAGE-INVALID-VALUE"}),
    [](const auto& c) { return std::string(c.param.name); });

// --- runtime-worker

std::vector<json::Value> lines(const std::string& text) {
  std::vector<json::Value> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto value = json::parse(line);
    EXPECT_TRUE(value) << line;
    if (value) out.push_back(*value);
  }
  return out;
}

TEST(RuntimeWorker, ChecksItsOwnAnswers) {
  const Runner runner;
  const auto model = runner.put("m.gguf", text_model());
  const std::string input =
      R"({"id":1,"kind":"correctness","prompt_tokens":[9,8,7],"steps":4})"
      "\n"
      R"({"id":2,"kind":"phase_diagnostics"})"
      "\n"
      R"({"id":3,"kind":"free_decode_begin","seed_tokens":[9,8,7],"spec":{"mode":"serial"}})"
      "\n"
      R"({"id":4,"kind":"free_decode_run","count":3})"
      "\n"
      R"({"id":5,"kind":"phase_diagnostics"})"
      "\n"
      R"({"id":6,"kind":"correctness_begin","prompt_tokens":[9,8,7]})"
      "\n"
      R"({"id":7,"kind":"correctness_step","token":300})"
      "\n"
      R"({"id":8,"kind":"decode_begin","seed_tokens":[9,8,7],"spec":{"mode":"mtp"}})"
      "\n"
      R"({"id":9,"kind":"prefill","prompt_tokens":[9,8,7]})"
      "\n";
  const auto outcome = runner.run({"runtime-worker", "--weights", model, "--some-judge", "flag",
                                   "--speculative-protocol", "v1.1", "--threads", "1"},
                                  input);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  const auto answers = lines(outcome.out);
  ASSERT_EQ(answers.size(), 10u) << outcome.out;
  const json::Value& hello = answers[0];
  EXPECT_EQ(hello.find("backend")->string(), "cpu");
  EXPECT_NE(hello.find("device")->string().find("1 thread"), std::string::npos);
  EXPECT_EQ(json::write(*hello.find("spec_modes")), R"(["serial"])");
  EXPECT_EQ(json::write(*hello.find("capabilities")), R"(["free_run_decode"])");
  // The free greedy run, the free run after its seed token, and the prefill agree.
  const auto tokens = *answers[1].find("tokens")->as_int64s("tokens");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(*answers[3].find("seed_token")->as_int64("seed_token"), tokens[0]);
  EXPECT_EQ(*answers[4].find("tokens")->as_int64s("tokens"),
            (std::vector<int64_t>(tokens.begin() + 1, tokens.end())));
  EXPECT_EQ(json::write(*answers[4].find("acceptance_lengths")), "[1,1,1]");
  EXPECT_EQ(*answers[5].find("completed_work")->as_int64("completed_work"), 4);  // 3 rounds + 1
  EXPECT_EQ(*answers[5].find("cache_memory")->as_int64("cache_memory"), 0);
  EXPECT_EQ(*answers[6].find("token")->as_int64("token"), tokens[0]);
  EXPECT_EQ(answers[6].find("top_logits")->items().size(), 8u);
  EXPECT_GT(*answers[6].find("peak_ram_gb")->as_double("peak_ram_gb"), 0.0);
  // A token outside the vocabulary and a mode that is not there are refused with the request's id.
  for (const size_t i : {size_t{7}, size_t{8}}) {
    EXPECT_FALSE(answers[i].find("ok")->boolean());
    EXPECT_EQ(*answers[i].find("id")->as_int64("id"), static_cast<int64_t>(i));
  }
  EXPECT_NE(answers[7].find("error")->string().find("WORKER-TOKEN-OUT-OF-VOCABULARY"),
            std::string::npos);
  EXPECT_EQ(*answers[9].find("token")->as_int64("token"), tokens[0]);
}

TEST(RuntimeWorker, WhatStopsItIsOnStderr) {
  const Runner runner;
  const auto missing = runner.run({"runtime-worker", "--weights", "/nonexistent"});
  EXPECT_EQ(missing.exit, 3);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("FILE-UNREADABLE"), std::string::npos) << missing.err;
  const auto no_weights = runner.run({"runtime-worker"});
  EXPECT_EQ(no_weights.exit, 2);
  EXPECT_EQ(no_weights.out, "");
  const auto protocol =
      runner.run({"runtime-worker", "--weights", "x", "--speculative-protocol", "v9"});
  EXPECT_EQ(protocol.exit, 2);
  const auto threads = runner.run({"runtime-worker", "--weights", "x", "--threads", "many"});
  EXPECT_EQ(threads.exit, 2);
}

}  // namespace
}  // namespace assay::engine::app
