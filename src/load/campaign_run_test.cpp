// Campaigns against servers that misbehave: every status, what is on disk afterwards, resuming.
#include "load/campaign_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "load/campaign_fixture.h"
#include "load/campaign_server.h"
#include "load/refusals.h"

namespace assay::load {
namespace {

class CampaignRun : public CampaignFixture {
 protected:
  CampaignOutcome run(const std::string& text) {
    auto manifest = parse_manifest(text);
    EXPECT_TRUE(manifest) << manifest.refusal().text();
    options_.memory = [this] { return memory_; };
    options_.retries_max = 0;
    options_.retry_interval = std::chrono::milliseconds(1);
    auto outcome = run_campaign(*manifest, options_);
    EXPECT_TRUE(outcome) << outcome.refusal().text();
    if (!outcome) return {};
    // Whatever happened: no server is left.
    for (const int pid : server_pids()) EXPECT_NE(kill(pid, 0), 0) << "server " << pid << " lives";
    return *std::move(outcome);
  }
  // The one cell of a campaign with one window.
  CellRecord run_one(const std::string& text) {
    const CampaignOutcome outcome = run(text);
    EXPECT_EQ(outcome.cells.size(), 1u);
    if (outcome.cells.size() != 1) return {};
    const CellRecord& record = outcome.cells[0];
    EXPECT_EQ(outcome.exit(), exit_of(record.status));
    const auto place = cell_folder(folder_ / "runs", record.cell);
    cell_ = read_json(place / "cell.json");
    throughput_ = read_json(place / "throughput.json");
    EXPECT_EQ(cell_.find("status")->string(), name_of(record.status));
    EXPECT_EQ(throughput_.find("cell_status")->string(), name_of(record.status));
    EXPECT_TRUE(cell_.find("finished")->boolean());
    return record;
  }
  void expect_no_rates() const {
    const json::Value* sequential = throughput_.find("sequential");
    ASSERT_NE(sequential, nullptr);
    for (const char* rate : {"cumulative_tok_s", "decode_tok_s", "prefill_tok_s"})
      EXPECT_EQ(sequential->find(rate), nullptr) << rate;
    EXPECT_NE(throughput_.find("reason"), nullptr);
  }

  CampaignOptions options_;
  MemoryFacts memory_{.total_bytes = int64_t{16} << 30};
  json::Value cell_, throughput_;
};

TEST_F(CampaignRun, SuccessCarriesEverythingThatTheRecordNeeds) {
  const CellRecord record = run_one(manifest(server()));
  ASSERT_EQ(record.status, CellStatus::success) << record.reason;
  EXPECT_EQ(record.phase, "finished");
  EXPECT_EQ(throughput_.find("env_class")->string(), "isolated");
  EXPECT_EQ(throughput_.find("campaign")->find("id")->string(), "c1");
  EXPECT_EQ(throughput_.find("campaign")->find("cell_id")->string(), cell_id(record.cell));
  EXPECT_EQ(throughput_.find("campaign")->find("profile")->string(), "p");
  EXPECT_EQ(throughput_.find("cache")->find("weights_state")->string(), "loaded_for_cell");
  EXPECT_EQ(throughput_.find("control"), nullptr);
  EXPECT_EQ(throughput_.find("control_ratio"), nullptr);  // no control, no ratio
  const json::Value* provenance = throughput_.find("provenance");
  ASSERT_NE(provenance, nullptr);
  EXPECT_TRUE(provenance->find("verified")->boolean());
  EXPECT_EQ(provenance->find("method")->string(), "open_files");
  ASSERT_EQ(provenance->find("files")->items().size(), 1u);
  const json::Value& file = provenance->find("files")->items()[0];
  EXPECT_EQ(file.find("name")->string(), "tiny.gguf");
  EXPECT_EQ(file.find("bytes")->literal(), "5004");
  EXPECT_EQ(file.find("sha256")->string(), weights_sha_);
  EXPECT_EQ(provenance->find("responded_model")->string(), "fake");
}

TEST_F(CampaignRun, PromptsUpToTheToleranceOff) {
  ASSERT_EQ(run_one(manifest(server())).status, CellStatus::success);
  const std::string exact = throughput_.find("context")->find("actual_prompt_tokens")->literal();
  const auto with = [&](const std::string& add) {
    std::string text = manifest(server({"--prompt-add", add, "--from", "3"}));
    text.replace(text.find("[256]"), 5, "[" + exact + "]");
    return run_one(text);
  };
  EXPECT_EQ(with("64").status, CellStatus::success);
  std::filesystem::remove_all(folder_ / "runs");
  const CellRecord off = with("65");
  EXPECT_EQ(off.status, CellStatus::aborted);
  EXPECT_EQ(off.reason_code, "LOAD-PROMPT-COUNT");
  expect_no_rates();
}

TEST_F(CampaignRun, RepetitionsOfOtherLengthsAreAborted) {
  const CellRecord record = run_one(manifest(server({"--prompt-add", "1", "--from", "5"})));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.reason_code, "LOAD-PROMPT-COUNT");
}

TEST_F(CampaignRun, CachedTokensFail) {
  const CellRecord record = run_one(manifest(server({"--cached", "5", "--from", "4"})));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.reason_code, "LOAD-CACHED-TOKENS");
  expect_no_rates();
}

TEST_F(CampaignRun, RequestErrorsFail) {
  const CellRecord record = run_one(manifest(server({"--status", "500", "--from", "4"})));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.reason_code, "LOAD-ERROR-RATE");
  expect_no_rates();
}

TEST_F(CampaignRun, AShareOfErrorsMayBeAllowed) {
  // The second of two measured requests is answered with 500: one in two.
  const auto with = [&](const char* share) {
    return manifest(server({"--status", "500", "--from", "5"}),
                    cat(R"(,"guards":{"max_error_rate":)", share, "}"));
  };
  EXPECT_EQ(run_one(with("0.49")).reason_code, "LOAD-ERROR-RATE");
  expect_no_rates();
  options_.retry = true;
  EXPECT_EQ(run_one(with("0.5")).status, CellStatus::success);
  EXPECT_EQ(throughput_.find("measured_answers")->find("errors")->literal(), "1");
}

TEST_F(CampaignRun, TooManyRequestsFail) {
  const CellRecord record = run_one(manifest(server({"--status", "429", "--from", "4"})));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.reason_code, "LOAD-TOO-MANY-REQUESTS");
}

TEST_F(CampaignRun, AnotherModelAnswering) {
  const CellRecord record = run_one(manifest(server({"--respond", "fallback"})));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.reason_code, "LOAD-MODEL-MISMATCH");
  expect_no_rates();
}

TEST_F(CampaignRun, OtherWeightsThanTheManifestNames) {
  const CellRecord record =
      run_one(manifest(server(), "", cat(R"(,"checkpoint_sha256":")", std::string(64, 'a'), "\"")));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-WEIGHT-MISMATCH");
  EXPECT_NE(record.reason.find(weights_sha_), std::string::npos);
  EXPECT_FALSE(throughput_.find("provenance")->find("verified")->boolean());
  expect_no_rates();
}

TEST_F(CampaignRun, TheNamedWeightsPass) {
  EXPECT_EQ(
      run_one(manifest(server(), "", cat(R"(,"checkpoint_sha256":")", weights_sha_, "\""))).status,
      CellStatus::success);
}

TEST_F(CampaignRun, AModelThatIsNotListedIsUnsupported) {
  const CellRecord record = run_one(manifest(server({"--list", "other"})));
  EXPECT_EQ(record.status, CellStatus::unsupported);
  EXPECT_EQ(record.reason_code, "LOAD-MODEL-NOT-SERVED");
  EXPECT_EQ(record.phase, "inventory");
  expect_no_rates();
}

TEST_F(CampaignRun, NoUsageIsUnsupported) {
  const CellRecord record = run_one(manifest(server({"--no-usage"})));
  EXPECT_EQ(record.status, CellStatus::unsupported);
  EXPECT_EQ(record.reason_code, "LOAD-NO-USAGE");
}

TEST_F(CampaignRun, ATargetBeyondTheWindowIsNotApplicableAndNoFault) {
  std::string text = manifest(server());
  text.replace(text.find("[256]"), 5, "[985]");  // 985 + 16 = 1001
  const CampaignOutcome outcome = run(text);
  ASSERT_EQ(outcome.cells.size(), 1u);
  EXPECT_EQ(outcome.cells[0].status, CellStatus::not_applicable);
  EXPECT_EQ(outcome.exit(), 0);
  EXPECT_TRUE(server_pids().empty());
}

TEST_F(CampaignRun, SwapGates) {
  memory_.swap_used_bytes = 4096;
  const CellRecord record = run_one(manifest(server()));
  EXPECT_EQ(record.status, CellStatus::capacity_gated);
  EXPECT_TRUE(server_pids().empty());
  expect_no_rates();
}

TEST_F(CampaignRun, AServerThatIsNeverReadyAborts) {
  const CellRecord record = run_one(manifest(server({"--not-ready"})));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.phase, "server");
  EXPECT_EQ(record.reason_code, "CAMPAIGN-SERVER-DIED");
  ASSERT_EQ(record.diagnostics.size(), 1u);
  EXPECT_EQ(record.diagnostics[0], "no weights today");
}

TEST_F(CampaignRun, AServerThatOnlyWaitsIsNotReady) {
  const CellRecord record =
      run_one(manifest(R"({"argv":["sleep","1000"],"ready_url":"http://127.0.0.1:${port}/",)"
                       R"("ready_timeout_seconds":1})"));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-SERVER-NOT-READY");
}

TEST_F(CampaignRun, SeveralRequestsInFlightAreABatchOfTheirOwn) {
  std::string text = manifest(server());
  text.replace(text.find("\"repeats\":2"), 11, "\"repeats\":2,\"concurrency\":3");
  const CellRecord record = run_one(text);
  ASSERT_EQ(record.status, CellStatus::success) << record.reason;
  EXPECT_EQ(throughput_.find("concurrency")->literal(), "3");
  EXPECT_EQ(throughput_.find("sequential_runs")->items().size(), 2u);
  EXPECT_EQ(throughput_.find("concurrent")->find("width")->literal(), "3");
  EXPECT_EQ(throughput_.find("concurrent")->find("n_ok")->literal(), "3");
}

TEST_F(CampaignRun, AServerThatIsNotThereAborts) {
  const CellRecord record =
      run_one(manifest(R"({"argv":["/nowhere/server"],"ready_url":"http://127.0.0.1:${port}/"})"));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-SERVER-NOT-STARTED");
}

TEST_F(CampaignRun, AServerThatDiesAborts) {
  const CellRecord record = run_one(manifest(server({"--die", "--from", "5"})));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-SERVER-DIED");
  EXPECT_NE(record.reason.find("exit code 7"), std::string::npos) << record.reason;
  EXPECT_EQ(record.phase, "sequential");
  expect_no_rates();
}

TEST_F(CampaignRun, ASilentServerIsATransportLimit) {
  const CellRecord record =
      run_one(manifest(server({"--hang", "--from", "4", "--marker", "/dev/null"}),
                       R"(,"guards":{"request_timeout_seconds":1})"));
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_TRUE(record.reason.starts_with("transport: ")) << record.reason;
}

TEST_F(CampaignRun, SwapGrowthAborts) {
  int asked = 0;
  auto manifest_text = manifest(server());
  auto parsed = parse_manifest(manifest_text);
  options_.memory = [&asked] {
    return MemoryFacts{.total_bytes = int64_t{16} << 30, .swap_used_bytes = asked++ == 0 ? 0 : 1};
  };
  const auto outcome = run_campaign(*parsed, options_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->cells.at(0).status, CellStatus::aborted);
  EXPECT_EQ(outcome->cells[0].reason_code, "CAMPAIGN-SWAP-GROWTH");
}

TEST_F(CampaignRun, AFileThatThePublisherRefusesFails) {
  options_.publisher = "/bin/false";
  const CellRecord record = run_one(manifest(server()));
  EXPECT_EQ(record.status, CellStatus::failed);
  EXPECT_EQ(record.phase, "record");
  EXPECT_EQ(record.return_code, 1);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-RECORD-REFUSED");
}

TEST_F(CampaignRun, AModelThatOnlyThinksIsFastAndAnswersNothing) {
  ASSERT_EQ(run_one(manifest(server({"--reasoning-only"}))).status, CellStatus::success);
  EXPECT_EQ(throughput_.find("sequential")->find("answered_rate")->literal(), "0.0");
  EXPECT_EQ(throughput_.find("sequential")->find("truncated_rate")->literal(), "1.0");
}

TEST_F(CampaignRun, ToolCallsAreCheckedBesideTheSpeed) {
  ASSERT_EQ(run_one(manifest(server(), R"(,"assertions":{"tool_call":true})")).status,
            CellStatus::success);
  EXPECT_EQ(throughput_.find("sequential")->find("tool_call_valid")->literal(), "0.0");
}

TEST_F(CampaignRun, AServerWithoutAToolParser) {
  const std::string tools = R"(,"assertions":{"tool_call":true})";
  const CellRecord record = run_one(manifest(server({"--no-tools"}), tools));
  EXPECT_EQ(record.status, CellStatus::unsupported);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-NO-TOOL-PARSER");
  expect_no_rates();
}

TEST_F(CampaignRun, ControlIsMeasuredBetweenTheHalves) {
  std::string text = manifest(server(), R"(,"control":{"profile":"old"})");
  const std::string second = cat(R"({"id":"old","model":"fake","window_limit_tokens":1000,)",
                                 R"("server":)", server({"--threads", "9"}), "}]");
  text.replace(text.find("}]") + 0, 2, "}," + second);
  const CampaignOutcome outcome = run(text);
  ASSERT_EQ(outcome.cells.size(), 2u);
  ASSERT_EQ(outcome.cells[0].status, CellStatus::success) << outcome.cells[0].reason;
  ASSERT_EQ(outcome.cells[1].status, CellStatus::success) << outcome.cells[1].reason;
  // A, B, A for the candidate's cell; one server for the control's own.
  EXPECT_EQ(server_pids().size(), 4u);
  const json::Value file =
      read_json(cell_folder(folder_ / "runs", outcome.cells[0].cell) / "throughput.json");
  const json::Value* control = file.find("control");
  ASSERT_NE(control, nullptr);
  EXPECT_EQ(control->find("metric")->string(), "throughput_total_toks_per_s");
  EXPECT_TRUE(control->find("same_session")->boolean());
  const double value = *control->find("value")->as_double("value");
  const double ours =
      *file.find("sequential")->find("cumulative_tok_s")->find("median")->as_double("median");
  EXPECT_DOUBLE_EQ(*file.find("control_ratio")->find("cumulative_tok_s")->as_double("r"),
                   ours / value);
  EXPECT_EQ(file.find("sequential_runs")->items().size(), 2u);
  EXPECT_EQ(file.find("control_run")->find("sequential_runs")->items().size(), 2u);
  // The control's run says under which conditions it was measured, as the candidate's does.
  for (const char* key : {"env_class", "concurrency", "context"})
    EXPECT_TRUE(*file.find("control_run")->find(key) == *file.find(key)) << key;
  const json::Value own =
      read_json(cell_folder(folder_ / "runs", outcome.cells[1].cell) / "throughput.json");
  EXPECT_EQ(own.find("control"), nullptr);
}

TEST_F(CampaignRun, StoppedBetweenCellsAndGoneOn) {
  windows_ = 2;
  bool stop = false;
  options_.progress = [&](std::string_view) { stop = true; };  // after the first cell's line
  options_.interrupted = [&]() -> Status {
    if (stop) return Refusal(kCampaignInterrupted, "as told");
    return {};
  };
  const CampaignOutcome first = run(manifest(server()));
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.exit(), 130);
  EXPECT_EQ(first.cells.size(), 1u);
  options_.progress = nullptr;
  options_.interrupted = nullptr;
  const CampaignOutcome second = run(manifest(server()));
  EXPECT_EQ(second.cells.size(), 2u);
  EXPECT_EQ(second.kept, 1u);
  EXPECT_EQ(second.exit(), 0);
  EXPECT_EQ(server_pids().size(), 2u);  // one a measured cell
  EXPECT_EQ(run(manifest(server())).kept, 2u);
}

TEST_F(CampaignRun, StartedCellsAreMeasuredAgainAndRememberIt) {
  const Cell cell = plan_cells(*parse_manifest(manifest(server()))).at(0);
  const auto place = cell_folder(folder_ / "runs", cell);
  // As a killed campaign leaves it.
  CellRecord started{.cell = cell};
  started.started_utc = "2026-01-01T00:00:00.000Z";
  ASSERT_TRUE(write_cell(place, started, status_document(started)));
  EXPECT_EQ(read_json(place / "cell.json").find("status")->string(), "aborted");
  EXPECT_EQ(read_json(place / "cell.json").find("phase")->string(), "starting");
  const CellRecord record = run_one(manifest(server()));
  EXPECT_EQ(record.status, CellStatus::success);
  EXPECT_EQ(record.attempt, 2);
  ASSERT_EQ(record.previous.size(), 1u);
  EXPECT_EQ(record.previous[0].find("phase")->string(), "starting");
}

TEST_F(CampaignRun, TornAndForeignFilesCountAsNone) {
  const Cell cell = plan_cells(*parse_manifest(manifest(server()))).at(0);
  const auto place = cell_folder(folder_ / "runs", cell);
  for (const char* bytes : {"", "{\"format\":\"assay-campaign-cell-1\",\"sta", "[1]",
                            R"({"format":"assay-campaign-cell-1","status":"success"})"}) {
    ASSERT_TRUE(write_file_atomic(place / "cell.json", bytes));
    EXPECT_FALSE(read_record(place, cell)) << bytes;
  }
  EXPECT_EQ(run_one(manifest(server())).attempt, 1);
}

TEST_F(CampaignRun, FilesAreWholeWheneverTheWriterIsKilled) {
  const Cell cell = plan_cells(*parse_manifest(manifest(server()))).at(0);
  const auto place = cell_folder(folder_ / "runs", cell);
  unsigned state = 12345;  // of a fixed sequence of moments
  for (int round = 0; round < 60; ++round) {
    const pid_t writer = fork();
    if (writer == 0) {
      for (int64_t attempt = 1;; ++attempt) {
        CellRecord record{.cell = cell};
        record.attempt = attempt;
        record.diagnostics.assign(200, std::string(100, 'x'));
        if (!write_cell(place, record, status_document(record))) _exit(1);
      }
    }
    state = state * 1664525 + 1013904223;
    usleep(500 + (state >> 16) % 8000);
    kill(writer, SIGKILL);
    int status = 0;
    waitpid(writer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (!std::filesystem::exists(place / "cell.json")) continue;
    ASSERT_TRUE(read_record(place, cell)) << "round " << round;
    const auto bytes = read_file(place / "throughput.json");
    ASSERT_TRUE(bytes);
    ASSERT_TRUE(json::parse(*bytes));
  }
  ASSERT_TRUE(std::filesystem::exists(place / "cell.json"));
  remove_torn_writes(place);
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    ++left;
    EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
  }
  EXPECT_EQ(left, 2u);
}

TEST_F(CampaignRun, FailuresAreKeptUntilARetryIsAskedFor) {
  ASSERT_EQ(run_one(manifest(server({"--list", "other"}))).status, CellStatus::unsupported);
  // The server's command is not part of a cell: the same cell, now served.
  EXPECT_EQ(run_one(manifest(server())).status, CellStatus::unsupported);
  options_.retry = true;
  EXPECT_EQ(run_one(manifest(server())).status, CellStatus::success);
}

TEST_F(CampaignRun, TwoAtOnceAreRefused) {
  const auto manifest_of = parse_manifest(manifest(server()));
  const auto lock = CampaignLock::take(folder_ / "runs" / "c1");
  ASSERT_TRUE(lock);
  const auto outcome = run_campaign(*manifest_of, options_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.refusal().code, "CAMPAIGN-ALREADY-RUNNING");
}

TEST_F(CampaignRun, ATakenPortIsNotMeasured) {
  auto other = ServerProcess::start(
      {.argv = {fake_server(), "--port", "0"}, .environment = {}, .log = folder_ / "other.log"});
  ASSERT_TRUE(other);
  std::string port;
  while ((*other)->alive() && port.empty()) {
    const std::string text =
        read_file(folder_ / "other.log").operator bool() ? *read_file(folder_ / "other.log") : "";
    if (text.ends_with("\n")) port = text.substr(13, text.size() - 14);  // "listening on N\n"
  }
  std::string text = manifest(server());
  for (size_t at = text.find("${port}"); at != std::string::npos; at = text.find("${port}"))
    text.replace(at, 7, port);
  const CellRecord record = run_one(text);
  EXPECT_EQ(record.status, CellStatus::aborted);
  EXPECT_EQ(record.reason_code, "CAMPAIGN-PORT-TAKEN");
}

TEST_F(CampaignRun, AServersChildrenEndWithIt) {
  const auto child = folder_ / "child";
  auto shell =
      ServerProcess::start({.argv = {"sh", "-c",
                                     cat("sleep 1000 & echo $! > ", child.string(), ".new; mv ",
                                         child.string(), ".new ", child.string(), "; wait")},
                            .environment = {},
                            .log = folder_ / "log"});
  ASSERT_TRUE(shell) << shell.refusal().text();
  while (!std::filesystem::exists(child)) ASSERT_TRUE((*shell)->alive());
  int pid = 0;
  std::ifstream(child) >> pid;
  ASSERT_GT(pid, 0);
  ASSERT_EQ(kill(pid, 0), 0);
  (*shell)->stop();
  // The group was killed; init may take a moment to bury the orphan.
  const auto state = [&] {
    const auto text = this_process_world().file(cat("/proc/", pid, "/stat"));
    return text ? (*text)[text->rfind(')') + 2] : '-';
  };
  while (state() != '-' && state() != 'Z') usleep(1000);
  EXPECT_NE((*shell)->end(), "");
}

}  // namespace
}  // namespace assay::load
