// assay-publish as its users run it: every kind of broken file with its exit code, publishing
// twice, a correction, the event feed, and what is on stdout.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "process.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = ASSAY_SOURCE_DIR "/tests/fuzz/corpus";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

class PublishRecord : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "record.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  ProcessResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ASSAY_BIN_DIR "/assay-publish");
    return run_process({.argv = arguments,
                        .working_directory = folder_,
                        .environment = {{"XDG_STATE_HOME", (folder_ / "state").string()},
                                        {"HOME", folder_.string()}},
                        .file_bytes_max = std::nullopt});
  }
  ProcessResult convert(const std::string& file, const std::string& kind,
                        std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "convert",         file,
        "--kind",          kind,
        "--suite",         kind == "framework-eval" ? "framework-eval" : "throughput",
        "--git-sha",       "0123abc",
        "--legacy-regime", "--allow-unknown-model",
        "--print-envelope"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  ProcessResult publish(std::vector<std::string> more = {}, const std::string& file = "") {
    std::vector<std::string> arguments = {
        "publish",      file.empty() ? (kCorpus / "convert_vllm/whole").string() : file,
        "--suite",      "throughput",
        "--git-sha",    "0123abc",
        "--tz",         "UTC",
        "--max-tokens", "64",
        "--store",      store_url()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::string store_url() const { return "file://" + (folder_ / "store").string(); }
  std::string index() const { return read(folder_ / "store/metadata/run-index-v1.json"); }

  fs::path folder_;
};

TEST_F(PublishRecord, ExitCodesOfEveryKind) {
  for (const char* kind : {"aiperf", "bench-serve", "benchd-score", "framework-eval", "genai-perf",
                           "guidellm", "llama-bench", "lm-eval", "throughput-probe", "vllm"}) {
    std::string name = cat("convert_", kind);
    std::replace(name.begin(), name.end(), '-', '_');
    const auto file = [&](const char* which) { return (kCorpus / name / which).string(); };
    for (const auto& [which, code] : {std::pair{"whole", 0},
                                      {"byte_order_mark", 0},
                                      {"not_finite", 0},
                                      {"key_twice", 0},
                                      {"truncated", 2},
                                      {"wrong_kind", 2},
                                      {"empty", 2},
                                      {"no_rows", 4}}) {
      if (std::string_view(kind) == "benchd-score" && std::string_view(which) == "no_rows")
        continue;
      const ProcessResult result = convert(file(which), kind);
      EXPECT_EQ(result.exit_code, code) << kind << " " << which << "\n" << result.err;
      // One envelope a line on stdout, or nothing at all.
      EXPECT_EQ(count(result.out, "\n"), code == 0 ? 1u : 0u) << kind << " " << which;
      if (code == 0) {
        EXPECT_TRUE(json::parse(result.out)) << kind << " " << which;
      } else {
        EXPECT_FALSE(result.err.empty());
      }
    }
    EXPECT_EQ(convert((folder_ / "no-such-file").string(), kind).exit_code, 2) << kind;
  }
}

TEST_F(PublishRecord, WhatIsNotValidSaysEveryProblemAndItsPath) {
  // Without --max-tokens a vLLM report has no output budget: its rates cannot be compared.
  const ProcessResult result = run({"convert", (kCorpus / "convert_vllm/whole").string(), "--suite",
                                    "throughput", "--git-sha", "xyz", "--print-envelope"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("(at $.git_sha)"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("E-REGIME"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
  const ProcessResult unchecked =
      run({"convert", (kCorpus / "convert_vllm/whole").string(), "--suite", "throughput",
           "--git-sha", "xyz", "--print-envelope", "--no-validate"});
  EXPECT_EQ(unchecked.exit_code, 0) << unchecked.err;
}

// Every line of stderr as JSON; null where one is none.
std::vector<json::Value> log_lines(const std::string& err) {
  std::vector<json::Value> out;
  for (const std::string_view line : split(trim(err), '\n')) {
    const auto value = json::parse(line);
    out.push_back(value ? *value : json::Value());
    EXPECT_TRUE(value && value->is_object()) << line;
  }
  return out;
}
std::string text_at(const json::Value& line, std::string_view key) {
  const json::Value* value = line.is_object() ? line.find(key) : nullptr;
  return value != nullptr && value->is_string() ? value->string() : "";
}

TEST_F(PublishRecord, ProblemsAreLogEventsAsEverythingElseIs) {
  const std::string file = (kCorpus / "convert_vllm/whole").string();
  for (const char* verb : {"convert", "publish"}) {
    std::vector<std::string> arguments = {verb,        file,  "--suite",      "throughput",
                                          "--git-sha", "xyz", "--log-format", "json"};
    if (verb == std::string_view("publish")) arguments.push_back("--dry-run");
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 3);
    std::map<std::string, std::string> problems;  // code to path
    std::string refusal;
    for (const json::Value& line : log_lines(result.err)) {
      EXPECT_EQ(text_at(line, "time").size(), 20u);
      EXPECT_FALSE(text_at(line, "message").empty());
      if (const std::string code = text_at(line, "problem"); !code.empty()) {
        EXPECT_EQ(text_at(line, "level"), "ERROR");
        EXPECT_EQ(text_at(line, "file"), file);
        problems[code] = text_at(line, "path");
      }
      refusal = text_at(line, "refusal");
    }
    EXPECT_EQ(problems["E-REGIME"], "$.regime");
    EXPECT_EQ(problems["E-SCHEMA"], "$.git_sha");
    EXPECT_EQ(refusal, "ENVELOPE-INVALID") << "the last line says why it ended";
  }
}

TEST_F(PublishRecord, WarningsAndUnreadableFilesAreLogEventsToo) {
  const ProcessResult legacy =
      run({"convert", (kCorpus / "convert_vllm/whole").string(), "--suite", "throughput",
           "--git-sha", "0123abc", "--tz", "UTC", "--legacy-regime", "--log-format", "json"});
  ASSERT_EQ(legacy.exit_code, 0) << legacy.err;
  const auto lines = log_lines(legacy.err);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const json::Value& line) {
    return text_at(line, "problem") == "W-REGIME" && text_at(line, "level") == "WARNING";
  })) << legacy.err;
  const ProcessResult missing = publish({"--log-format", "json"}, "no-such-file");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(text_at(log_lines(missing.err).back(), "refusal"), "FILE-UNREADABLE") << missing.err;
  std::ofstream(folder_ / "envelope.json") << "{}";
  const ProcessResult invalid = run({"validate", "envelope.json", "--log-format", "json"});
  EXPECT_EQ(invalid.exit_code, 3);
  EXPECT_EQ(text_at(log_lines(invalid.err).front(), "problem"), "E-SCHEMA") << invalid.err;
  const ProcessResult errors_only =
      run({"convert", (kCorpus / "convert_vllm/whole").string(), "--suite", "throughput",
           "--git-sha", "0123abc", "--tz", "UTC", "--legacy-regime", "--log-format", "text",
           "--log-level", "ERROR"});
  EXPECT_EQ(errors_only.err, "");
}

TEST_F(PublishRecord, AFileCannotWriteOnTheTerminalOrForgeALine) {
  std::ofstream(folder_ / "envelope.json") << R"({"\u001b[2J\nERROR forged": 1})";
  for (const char* format : {"", "text"}) {
    std::vector<std::string> arguments = {"validate", "envelope.json"};
    if (*format != '\0') arguments.insert(arguments.end(), {"--log-format", format});
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find("\\x1b[2J\\x0aERROR forged"), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
    EXPECT_EQ(result.err.find("\nERROR"), std::string::npos);
  }
}

TEST_F(PublishRecord, TwiceIsOnce) {
  const ProcessResult first = publish();
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_TRUE(
      first.out.starts_with("data/run-2026-08-16T16-08-53-0123abc-throughput-acme-tiny-1b-"))
      << first.out;
  const std::string path = first.out.substr(0, first.out.size() - 1);
  const std::string bytes = read(folder_ / "store" / path), index_bytes = index();
  const ProcessResult second = publish();
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("already published"), std::string::npos);
  EXPECT_EQ(read(folder_ / "store" / path), bytes);
  EXPECT_EQ(index(), index_bytes);
  // One event line a row, once.
  const std::string feed = read(folder_ / "state/assay/bench-events.jsonl");
  EXPECT_EQ(count(feed, "\n"), count(feed, "\"run_id\""));
  EXPECT_GT(count(feed, "\n"), 0u);
}

TEST_F(PublishRecord, TheFeedIsRebuiltFromTheShards) {
  ASSERT_EQ(publish().exit_code, 0);
  ASSERT_EQ(publish({"--tag", "again=yes"}).exit_code, 0);
  const fs::path feed = folder_ / "state/assay/bench-events.jsonl";
  std::vector<std::string> live, replayed;
  const auto lines = [&](std::vector<std::string>& out) {
    for (const std::string_view line : split(read(feed), '\n')) out.emplace_back(line);
    std::sort(out.begin(), out.end());
  };
  lines(live);
  std::ofstream(feed) << "lost";
  const ProcessResult replay = run({"events", "replay", "--store", store_url()});
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_EQ(replay.out, "");
  lines(replayed);
  EXPECT_EQ(replayed, live);
  // One that cannot be read at all and one that is no Parquet file: the others are replayed.
  std::ofstream(folder_ / "store/data/run-x.parquet") << "no Parquet";
  std::ofstream(folder_ / "store/data/run-y-0123abcd.parquet") << "other bytes";
  std::ofstream(feed) << "lost";
  const ProcessResult partial = run({"events", "replay", "--store", store_url()});
  EXPECT_EQ(partial.exit_code, 3);
  EXPECT_NE(partial.err.find("SHARD-UNREADABLE: data/run-x.parquet"), std::string::npos)
      << partial.err;
  EXPECT_NE(partial.err.find("STORE-DAMAGED: `data/run-y-0123abcd.parquet`"), std::string::npos);
  EXPECT_NE(partial.err.find("2 shards left out"), std::string::npos) << partial.err;
  std::vector<std::string> of_the_others;
  lines(of_the_others);
  EXPECT_EQ(of_the_others, live);
  // The index names the one whose bytes are others, and stays as good as it was.
  const ProcessResult indexed = run({"index", "--store", store_url()});
  EXPECT_EQ(indexed.exit_code, 3);
  EXPECT_NE(indexed.err.find("STORE-DAMAGED: `data/run-y-0123abcd.parquet`"), std::string::npos)
      << indexed.err;
  EXPECT_EQ(count(indexed.out, "\"path\""), 2u) << indexed.out;
  fs::remove(folder_ / "store/data/run-x.parquet");
  fs::remove(folder_ / "store/data/run-y-0123abcd.parquet");
  // Two shards that have changed places: neither is what its name promises, and the feed stays.
  std::vector<fs::path> shards;
  for (const auto& entry : fs::directory_iterator(folder_ / "store/data")) shards.push_back(entry);
  ASSERT_EQ(shards.size(), 2u);
  fs::rename(shards[0], folder_ / "aside");
  fs::rename(shards[1], shards[0]);
  fs::rename(folder_ / "aside", shards[1]);
  const ProcessResult refused = run({"events", "replay", "--store", store_url()});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(count(refused.err, "STORE-DAMAGED"), 2u) << refused.err;
  EXPECT_EQ(count(run({"index", "--store", store_url()}).out, "\"path\""), 0u);
  std::vector<std::string> after;
  lines(after);
  EXPECT_EQ(after, live);
}

TEST_F(PublishRecord, ACorrectionIsANewShardAndOneMoreEntry) {
  const ProcessResult wrong = publish({"--index-status", "scored"});
  ASSERT_EQ(wrong.exit_code, 0) << wrong.err;
  const std::string old_path = wrong.out.substr(0, wrong.out.size() - 1);
  const std::string old_bytes = read(folder_ / "store" / old_path);
  const ProcessResult right = publish({"--model", "acme/tiny-1b-fp8", "--index-status", "scored"});
  ASSERT_EQ(right.exit_code, 0) << right.err;
  const std::string new_path = right.out.substr(0, right.out.size() - 1);
  EXPECT_NE(new_path, old_path);

  const std::vector<std::string> mark = {"index", "--store", store_url(), "--invalidate", old_path};
  EXPECT_EQ(run(mark).exit_code, 2) << "a caveat is needed";
  std::vector<std::string> whole = mark;
  whole.insert(whole.end(),
               {"--caveat", "the wrong weights were loaded", "--superseded-by", new_path});
  const ProcessResult marked = run(whole);
  ASSERT_EQ(marked.exit_code, 0) << marked.err;
  const auto document = json::parse(marked.out);
  ASSERT_TRUE(document);
  const auto& runs = document->find("runs")->items();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].find("status")->string(), "scored") << "nothing is relabelled";
  EXPECT_EQ(runs[2].find("path")->string(), old_path);
  EXPECT_EQ(runs[2].find("status")->string(), "invalid");
  EXPECT_EQ(runs[2].find("superseded_by")->string(), new_path);
  EXPECT_EQ(read(folder_ / "store" / old_path), old_bytes) << "the old shard stays";
  // The wrong file once more is still no new shard, and does not make it valid again.
  EXPECT_EQ(publish({"--index-status", "scored"}).exit_code, 0);
  EXPECT_EQ(json::parse(index())->find("runs")->items().size(), 3u);
  whole.back() = "data/run-nowhere.parquet";
  EXPECT_EQ(run(whole).exit_code, 3);
  EXPECT_EQ(run({"index", "--store", store_url(), "--invalidate", "data/run-nowhere.parquet",
                 "--caveat", "x"})
                .exit_code,
            3);
}

TEST_F(PublishRecord, AnIndexThatNamesWhatIsNotThere) {
  const ProcessResult first = publish();
  ASSERT_EQ(first.exit_code, 0);
  EXPECT_EQ(run({"index", "--store", store_url()}).exit_code, 0);
  fs::remove(folder_ / "store" / first.out.substr(0, first.out.size() - 1));
  const ProcessResult missing = run({"index", "--store", store_url()});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("the store lacks"), std::string::npos) << missing.err;
  std::ofstream(folder_ / "store/metadata/run-index-v1.json") << "{";
  EXPECT_EQ(run({"index", "--store", store_url()}).exit_code, 3);
  EXPECT_EQ(publish().exit_code, 4) << "nothing is appended to an index that cannot be read";
}

TEST_F(PublishRecord, FlagsOfTheIndexAreCheckedBeforeAnythingIsDone) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> wrong = {
      {{"--index-status", "invalid"}, "caveat=WHY"},
      {{"--index-status", "invalid", "--index-entry", "caveat= "}, "caveat=WHY"},
      {{"--index-entry", "foo=1"}, "\"foo=1\" names no field of an entry: variant, "},
      {{"--index-entry", "caveat"}, "is not KEY=VALUE"},
      {{"--index-entry", "evidence=great"}, "evidence is current or historical"},
      {{"--index-entry", "superseded_by=../x"}, "data/run-….parquet"},
      {{"--index-entry", "caveat=a", "--index-entry", "caveat=b"}, "given twice"}};
  for (const auto& [flags, what] : wrong) {
    // Not even the file is looked at.
    const ProcessResult result = publish(flags, (folder_ / "no-such-file").string());
    EXPECT_EQ(result.exit_code, 2) << what;
    EXPECT_NE(result.err.find(what), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "store")) << what;
  }
  EXPECT_EQ(publish({"--index-status", "invalid", "--index-entry", "caveat=a proxy answered",
                     "--index-entry", "evidence=historical"})
                .exit_code,
            0);
  EXPECT_NE(index().find("\"evidence\": \"historical\""), std::string::npos) << index();
}

TEST_F(PublishRecord, AShardsNameLeadsNowhereElse) {
  for (const auto& [flag, text] : {std::pair{"--git-sha", "a/b"},
                                   {"--git-sha", "../../x"},
                                   {"--git-sha", "a\\b"},
                                   {"--git-sha", ""},
                                   {"--timestamp", "../../../2026"}}) {
    const ProcessResult result = publish({flag, text, "--no-validate"});
    EXPECT_NE(result.exit_code, 0) << flag << " " << text;
    EXPECT_FALSE(fs::exists(folder_ / "store")) << flag << " " << text;
  }
  const ProcessResult harmless = publish({"--git-sha", "not-hex", "--no-validate"});
  EXPECT_EQ(harmless.exit_code, 0) << harmless.err;
  EXPECT_TRUE(harmless.out.starts_with("data/run-")) << harmless.out;
}

// Whatever way a text takes into a record, what must not be published is not in it.
TEST_F(PublishRecord, NoWayIntoARecordGoesAroundItsPrivacy) {
  std::ofstream(folder_ / "system.json")
      << R"({"os":"built in /home/ann/os","chip":"c","memory_gb":8,"hostname":"anns-box",)"
      << R"("container":"http://ann:hunter2@registry/x","runner":"r --api-key k-secret"})";
  std::ofstream(folder_ / "proof.json")
      << R"({"method":"none","verified":false,"checkpoint":"/Users/ann/x?token=t-secret"})";
  const std::vector<std::string> flags = {"--system-file",
                                          (folder_ / "system.json").string(),
                                          "--provenance-file",
                                          (folder_ / "proof.json").string(),
                                          "--model",
                                          "/home/ann/model",
                                          "--serving-stack",
                                          "serve --token s-secret",
                                          "--serving-model",
                                          "/home/ann/served",
                                          "--reasoning-effort",
                                          "password=r-secret",
                                          "--tag",
                                          "note=Bearer n-secret",
                                          "--tag",
                                          "db_password=p-secret",
                                          "--index-entry",
                                          "caveat=see /home/ann/notes, api_key=i-secret"};
  std::vector<std::string> with_folder = flags;
  with_folder.insert(with_folder.end(), {"--out", (folder_ / "out").string()});
  const ProcessResult stored = publish(with_folder);
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  std::vector<std::string> convert_flags(flags.begin(), flags.end() - 2);
  const ProcessResult printed =
      convert((kCorpus / "convert_vllm/whole").string(), "vllm", convert_flags);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  std::string all = printed.out + index();
  for (const auto& file : fs::directory_iterator(folder_ / "out")) {
    if (file.path().extension() == ".json") all += read(file.path());
  }
  const ProcessResult replayed =
      run({"events", "replay", "--store", store_url(), "--feed", (folder_ / "feed").string()});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  all += read(folder_ / "feed");
  EXPECT_EQ(count(all, "ann"), 0u) << all;
  EXPECT_EQ(count(all, "secret"), 0u) << all;
  EXPECT_EQ(count(all, "hunter"), 0u) << all;
  // And what is not secret is still there, in all four places.
  for (const char* kept : {"~/model", "serve --token ***", "http://***@registry/x", "Bearer ***"})
    EXPECT_GE(count(all, kept), 3u) << kept << "\n" << all;
  EXPECT_NE(index().find("see ~/notes, api_key=***"), std::string::npos) << index();
}

TEST_F(PublishRecord, AHostIsNamedOnlyWhereThatIsAskedFor) {
  const std::string file = (kCorpus / "convert_vllm/whole").string();
  EXPECT_EQ(count(convert(file, "vllm", {"--hostname", "box-1"}).out, "box-1"), 0u);
  EXPECT_EQ(count(convert(file, "vllm", {"--hostname", "box-1", "--publish-hostname"}).out,
                  R"("hostname":"box-1")"),
            1u);
}

TEST_F(PublishRecord, StrictUpstreamKnowsNoFieldOfOurs) {
  const ProcessResult result =
      run({"convert", (kCorpus / "convert_throughput_probe/whole").string(), "--suite",
           "throughput", "--git-sha", "0123abc", "--strict-upstream", "--print-envelope"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto envelope = json::parse(result.out);
  ASSERT_TRUE(envelope);
  for (const char* key : {"regime", "cache", "provenance", "control"})
    EXPECT_EQ(envelope->find(key), nullptr) << key;
  EXPECT_EQ(envelope->find("results")->items()[0].find("tags")->find("regime.max_tokens")->string(),
            "64");
  const ProcessResult stored = publish({"--strict-upstream"});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  EXPECT_NE(publish().out, stored.out) << "other bytes, another path";
}

TEST_F(PublishRecord, ADryRunWritesNothing) {
  const ProcessResult result = publish({"--dry-run"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("data/run-"));
  EXPECT_NE(result.err.find("rows"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "store"));
  EXPECT_FALSE(fs::exists(folder_ / "state"));
}

TEST_F(PublishRecord, AStoreThatCannotBeWritten) {
  std::ofstream(folder_ / "store") << "a file stands here";
  const ProcessResult result = publish();
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("STORE-"), std::string::npos) << result.err;
}

TEST_F(PublishRecord, SeveralFilesAreAllCheckedBeforeOneIsPublished) {
  const ProcessResult result =
      publish({(kCorpus / "convert_vllm/truncated").string(), "--kind", "vllm"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(fs::exists(folder_ / "store/data"));
}

}  // namespace
}  // namespace assay::e2e
