// From a campaign with a control into the record: the control's run is a shard of its own, and the
// candidate's names it by the digest of its envelope.
#include <algorithm>

#include "load/campaign_fixture.h"
#include "load/campaign_run.h"
#include "process.h"
#include "publish/shard.h"

namespace assay::load {
namespace {

namespace fs = std::filesystem;

class CampaignPublish : public CampaignFixture {
 protected:
  // Two profiles of one window; `old` is the control. Returns the cells' files, the candidate's
  // first.
  std::vector<fs::path> measure() {
    std::string text = manifest(server(), R"(,"control":{"profile":"old"})");
    const std::string second = cat(R"({"id":"old","model":"fake","window_limit_tokens":1000,)",
                                   R"("quantization":"q8","server":)", server({"--threads", "9"}));
    text.replace(text.find("}]"), 1, "}," + second + "}");
    const auto parsed = parse_manifest(text);
    EXPECT_TRUE(parsed) << parsed.refusal().text();
    if (!parsed) return {};
    CampaignOptions options;
    options.memory = [] { return MemoryFacts{.total_bytes = int64_t{16} << 30}; };
    options.publisher = fs::path(ASSAY_BIN_DIR) / "assay-publish";
    const auto outcome = run_campaign(*parsed, options);
    EXPECT_TRUE(outcome);
    std::vector<fs::path> files;
    for (const CellRecord& record : outcome->cells) {
      EXPECT_EQ(record.status, CellStatus::success) << record.reason;
      files.push_back(cell_folder(folder_ / "runs", record.cell) / "throughput.json");
    }
    EXPECT_EQ(files.size(), 2u);
    return files;
  }

  e2e::ProcessResult publish(const fs::path& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> argv = {std::string(ASSAY_BIN_DIR) + "/assay-publish",
                                     "publish",
                                     file.string(),
                                     "--suite",
                                     "throughput",
                                     "--git-sha",
                                     "0123abc",
                                     "--store",
                                     "file://" + (folder_ / "store").string()};
    argv.insert(argv.end(), more.begin(), more.end());
    return e2e::run_process(
        {.argv = argv,
         .working_directory = folder_,
         .environment = {{"XDG_STATE_HOME", folder_.string()}, {"HOME", folder_.string()}},
         .file_bytes_max = {}});
  }

  // The shards that a publication names on stdout, in order.
  std::vector<publish::Shard> shards(const std::string& out) const {
    std::vector<publish::Shard> list;
    for (const std::string_view path : split(trim(out), '\n')) {
      const auto bytes = read_file(folder_ / "store" / path);
      EXPECT_TRUE(bytes) << path;
      if (!bytes) continue;
      auto shard = publish::read_shard(*bytes);
      EXPECT_TRUE(shard) << path;
      if (shard) list.push_back(*std::move(shard));
    }
    return list;
  }

  static std::string text(const publish::Cell& cell) {
    const auto* value = std::get_if<std::string>(&cell);
    return value == nullptr ? "(null)" : *value;
  }
  static json::Value control_of(const publish::Shard& shard) {
    const auto value = json::parse(text(shard.at("control_json", 0)));
    return value ? *value : json::Value::object();
  }

  // The candidate's file with something done to it.
  template <class Change>
  fs::path changed(const fs::path& file, Change change) const {
    json::Value document = read_json(file);
    change(document);
    const fs::path copy = folder_ / "changed.json";
    EXPECT_TRUE(write_file_atomic(copy, json::write(document)));
    return copy;
  }
};

TEST_F(CampaignPublish, TheCandidateNamesTheEnvelopeOfItsControl) {
  const auto files = measure();
  ASSERT_EQ(files.size(), 2u);
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {},
           {"--publish-hostname", "--hostname", "box-1", "--model", "acme/renamed", "--index-entry",
            "variant=mtp", "--index-entry", "comparison_group=g"}}) {
    const auto result = publish(files[0], flags);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto list = shards(result.out);
    ASSERT_EQ(list.size(), 2u) << result.out;
    const publish::Shard &control = list[0], &candidate = list[1];
    EXPECT_EQ(text(control.at("campaign_profile", 0)), "old");
    EXPECT_EQ(text(control.at("quantization", 0)), "q8");
    EXPECT_EQ(text(control.at("env_class", 0)), "isolated");
    EXPECT_EQ(text(control.at("model", 0)), "fake") << "--model speaks of the candidate";
    EXPECT_EQ(text(control.at("control_json", 0)), "(null)");
    EXPECT_EQ(text(candidate.at("campaign_profile", 0)), "p");
    EXPECT_EQ(text(candidate.at("campaign_id", 0)), text(control.at("campaign_id", 0)));
    const json::Value named = control_of(candidate);
    ASSERT_NE(named.find("envelope_sha256"), nullptr);
    EXPECT_EQ(control.envelope_sha256.size(), 64u);
    EXPECT_EQ(named.find("envelope_sha256")->string(), control.envelope_sha256);
    // The value that the candidate is compared with stands in the shard that it names.
    double headline = -1;
    for (size_t row = 0; row < control.rows; ++row) {
      if (text(control.at("metric", row)) == named.find("metric")->string())
        headline = std::get<double>(control.at("value", row));
    }
    EXPECT_EQ(headline, *named.find("value")->as_double(""));
  }
  const json::Value index = read_json(folder_ / "store/metadata/run-index-v1.json");
  const auto& runs = index.find("runs")->items();
  ASSERT_EQ(runs.size(), 4u);
  const auto said = [](const json::Value& run, const char* key) {
    const json::Value* value = run.find(key);
    return value != nullptr && value->is_string() ? value->string() : "";
  };
  EXPECT_EQ(said(runs[2], "variant"), "") << "the variant is the candidate's";
  EXPECT_EQ(said(runs[3], "variant"), "mtp");
  for (const size_t i : {2u, 3u}) EXPECT_EQ(said(runs[i], "comparison_group"), "g");
  // The same again is the same two shards.
  const auto again = publish(files[0]);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.err.find("published data/"), std::string::npos) << again.err;
}

TEST_F(CampaignPublish, WithoutTheControlsRunNoDigestIsMadeUp) {
  const auto files = measure();
  ASSERT_EQ(files.size(), 2u);
  const auto own = publish(files[1]);  // the control's own cell has no control
  ASSERT_EQ(own.exit_code, 0) << own.err;
  const auto alone = shards(own.out);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(text(alone[0].at("control_json", 0)), "(null)");

  const auto without = publish(changed(files[0], [](json::Value& document) {
    std::erase_if(document.members(), [](const auto& m) { return m.first == "control_run"; });
  }));
  ASSERT_EQ(without.exit_code, 0) << without.err;
  const auto list = shards(without.out);
  ASSERT_EQ(list.size(), 1u);
  const json::Value control = control_of(list[0]);
  EXPECT_NE(control.find("value"), nullptr);
  EXPECT_EQ(control.find("envelope_sha256"), nullptr);
}

TEST_F(CampaignPublish, AControlThatItsRunDoesNotBearOutIsRefused) {
  const auto files = measure();
  ASSERT_EQ(files.size(), 2u);
  const auto value = publish(changed(
      files[0], [](json::Value& document) { document.find("control")->set("value", 12.5); }));
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_NE(value.err.find("CONVERT-INPUT"), std::string::npos) << value.err;
  EXPECT_NE(value.err.find("`control` says 12.5 tok/s"), std::string::npos) << value.err;
  const auto aborted = publish(changed(files[0], [](json::Value& document) {
    document.find("control_run")->set("cell_status", "aborted");
  }));
  EXPECT_EQ(aborted.exit_code, 2);
  EXPECT_NE(aborted.err.find("`control_run` (aborted) does not report"), std::string::npos)
      << aborted.err;
  const auto foreign = publish(changed(
      files[0], [](json::Value& document) { document.set("control_run", json::Value::object()); }));
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "store/data")) << "nothing was published";
}

}  // namespace
}  // namespace assay::load
