// Manifest, cells and admission: what is planned, and what is refused before anything runs.
#include <gtest/gtest.h>

#include "base/text.h"
#include "load/campaign_admission.h"
#include "load/campaign_cell.h"
#include "load/campaign_cells.h"
#include "load/campaign_manifest.h"
#include "load/campaign_run.h"

namespace assay::load {
namespace {

std::string manifest_text(std::string_view more = "", std::string_view profile_more = "") {
  return std::string(R"({"campaign_id":"c1","profiles":[{"id":"base","model":"base",)") +
         R"("window_limit_tokens":131072)" + std::string(profile_more) + "}]" + std::string(more) +
         "}";
}

Manifest good(std::string_view text) {
  auto manifest = parse_manifest(text);
  EXPECT_TRUE(manifest) << manifest.refusal().text();
  return manifest ? *std::move(manifest) : Manifest{};
}

// The refusal's text of a manifest that must not pass.
std::string bad(std::string_view text) {
  const auto manifest = parse_manifest(text);
  return manifest ? "accepted" : manifest.refusal().text();
}

TEST(CampaignManifest, DefaultsAreTheDocumentedOnes) {
  const Manifest manifest = good(manifest_text());
  EXPECT_EQ(manifest.output_root, "~/bench-runs");
  EXPECT_EQ(manifest.environment_class, "isolated");
  EXPECT_EQ(manifest.targets, (std::vector<int64_t>{32000, 64000, 128000, 192000}));
  EXPECT_EQ(manifest.configured_windows, (std::vector<int64_t>{32768, 65536, 131072, 196608}));
  EXPECT_EQ(manifest.output_tokens, 512);
  EXPECT_EQ(manifest.repeats, 4);
  EXPECT_EQ(manifest.concurrency, 1);
  EXPECT_EQ(manifest.prompt_tolerance_tokens, 64);
}

TEST(CampaignManifest, AByteOrderMarkIsPassedOverAtTheBeginningOnly) {
  EXPECT_EQ(good("\xEF\xBB\xBF" + manifest_text()).campaign_id, "c1");
  EXPECT_NE(bad(manifest_text() + "\xEF\xBB\xBF").find("JSON-SYNTAX"), std::string::npos);
}

TEST(CampaignManifest, AProfileIsNamedAfterItsModel) {
  const Manifest manifest =
      good(R"({"campaign_id":"c","profiles":[{"model":"org/Name-4bit","window_limit_tokens":1}]})");
  EXPECT_EQ(manifest.profiles.at(0).id, "Name-4bit");
}

TEST(CampaignManifest, RefusalsNameTheKey) {
  EXPECT_EQ(bad("{"), bad("{"));
  EXPECT_NE(bad(R"({"profiles":[]})").find("JSON-MISSING-KEY: `campaign_id`"), std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"campaing":1)")).find("JSON-UNKNOWN-KEY: `campaing`"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text("", R"(,"colour":1)")).find("`profiles[0].colour`"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"repeats":1.5})")).find("`defaults.repeats`"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"repeats":0})")).find("`defaults.repeats` is 0"),
            std::string::npos);
  EXPECT_NE(bad(R"({"campaign_id":")" + std::string(4097, 'c') + R"(","profiles":[]})")
                .find("`campaign_id` has 4097 bytes"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"repeats":10001})")).find("1 to 10000 is meant"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"targets":[0]})")).find("`defaults.targets[0]` is 0"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"targets":[]})")).find("`defaults.targets` is empty"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"defaults":{"targets":[64,64]})"))
                .find("`defaults.targets[1]` stands twice"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"environment_class":"quiet")")).find("isolated or under-load"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"control":{"profile":"nobody"})")).find("which is no profile"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"server":{"argv":[],"ready_url":"http://x"})"))
                .find("`server.argv` names no program"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text("", R"(,"outcome":{"status":"success","reason":"x"})"))
                .find("`profiles[0].outcome.status` is \"success\""),
            std::string::npos);
  EXPECT_NE(
      bad(manifest_text("", R"(,"outcome":{"status":"fine","reason":"x"})")).find("no cell status"),
      std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"guards":{"memory_utilisation":0.9})"))
                .find("`guards.memory_utilisation` is 0.9"),
            std::string::npos);
  for (const char* share : {"1", "-0.1"}) {
    EXPECT_NE(bad(manifest_text(cat(R"(,"guards":{"max_error_rate":)", share, "}")))
                  .find("`guards.max_error_rate` is "),
              std::string::npos)
        << share;
  }
  EXPECT_NE(bad(R"({"campaign_id":"../up","profiles":[{"model":"m","window_limit_tokens":1}]})")
                .find("`campaign_id` is \"../up\""),
            std::string::npos);
  EXPECT_NE(bad(R"({"campaign_id":"c","profiles":[{"model":"a/m","window_limit_tokens":1},)"
                R"({"model":"b/m","window_limit_tokens":1}]})")
                .find("as another profile's"),
            std::string::npos);
  EXPECT_NE(bad(manifest_text(R"(,"control":{"profile":"base"},"defaults":{"repeats":1})"))
                .find("`defaults.repeats` is 1"),
            std::string::npos);
}

TEST(CampaignVariables, OneRule) {
  const Lookup lookup = [](std::string_view name) -> std::optional<std::string> {
    if (name == "HOME") return "/h";
    if (name == "A") return "one";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  EXPECT_EQ(*expand("x ${A}/${A} $A {A}", lookup), "x one/one $A {A}");
  EXPECT_EQ(*expand("~/runs/~", lookup), "/h/runs/~");
  EXPECT_EQ(*expand("${NO:-${A}-2}", lookup), "one-2");
  EXPECT_EQ(*expand("${EMPTY:-x}${EMPTY}", lookup), "x");
  EXPECT_EQ(expand("${NO}", lookup).refusal().code, "CAMPAIGN-VARIABLE-UNSET");
  EXPECT_EQ(expand("${A", lookup).refusal().code, "CAMPAIGN-VARIABLE-UNSET");
}

// The two digests were computed with Python: hashlib.sha256(json.dumps(cell, sort_keys=True,
// separators=(",", ":")).encode()).hexdigest()[:16].
TEST(CampaignCells, IdIsTheDigestOfTheSortedAsciiJson) {
  Cell cell{.campaign_id = "c1",
            .profile_id = "base",
            .model = "base",
            .configured_window = 131072,
            .target_tokens = 128000,
            .output_tokens = 64,
            .prompt_tolerance_tokens = 64,
            .repeats = 4,
            .concurrency = 1,
            .base_url = "http://127.0.0.1:11434/v1",
            .environment_class = "isolated"};
  EXPECT_EQ(cell_id(cell), "606902657029baad");
  cell.model = "org/Mod\xc3\xa8le-\xf0\x9f\x98\x80\x7f\"q";
  EXPECT_EQ(ascii_json(cell_json(cell)),
            R"({"base_url":"http://127.0.0.1:11434/v1","campaign_id":"c1","concurrency":1,)"
            R"("configured_window":131072,"environment_class":"isolated",)"
            R"("model":"org/Mod\u00e8le-\ud83d\ude00\u007f\"q","output_tokens":64,)"
            R"("profile_id":"base","prompt_tolerance_tokens":64,"repeats":4,)"
            R"("target_tokens":128000})");
  EXPECT_EQ(cell_id(cell), "1ee4050e144a002d");
}

TEST(CampaignCells, ProfilesTimesWindowsUpToTheLimitTimesTargets) {
  const Manifest manifest = good(
      R"({"campaign_id":"c","defaults":{"targets":[10,20],"configured_windows":[100,200,300]},)"
      R"("profiles":[{"model":"a","window_limit_tokens":200},)"
      R"({"model":"off","window_limit_tokens":300,"enabled":false},)"
      R"({"model":"small","window_limit_tokens":99}]})");
  const auto cells = plan_cells(manifest);
  ASSERT_EQ(cells.size(), 4u);  // a: windows 100 and 200 x two targets; small: no window fits
  EXPECT_EQ(cells[0].configured_window, 100);
  EXPECT_EQ(cells[0].target_tokens, 10);
  EXPECT_EQ(cells[3].configured_window, 200);
  EXPECT_EQ(cells[3].target_tokens, 20);
}

TEST(CampaignAdmission, PromptPlusReservationUpToTheWindow) {
  EXPECT_TRUE(admits(128000, 64, 131072));   // 128064
  EXPECT_TRUE(admits(128000, 512, 131072));  // 128512
  EXPECT_FALSE(admits(192000, 64, 131072));
  EXPECT_TRUE(admits(131008, 64, 131072));   // equal
  EXPECT_FALSE(admits(131009, 64, 131072));  // one over
  EXPECT_FALSE(admits(INT64_MAX, 64, 131072));
}

TEST(CampaignAdmission, CacheOfAttention) {
  // 65,536 B x (128,000 + 64) tokens = 8,392,802,304 B = 7.816 GiB; four sequences 31.266 GiB.
  EXPECT_EQ(kv_cache_bytes(65536, 128000, 64, 1), 8'392'802'304);
  EXPECT_EQ(kv_cache_bytes(65536, 128000, 64, 4), 33'571'209'216);
  EXPECT_NEAR(8'392'802'304.0 / (1 << 30), 7.816, 0.0005);
  EXPECT_NEAR(33'571'209'216.0 / (1 << 30), 31.266, 0.0005);
  EXPECT_EQ(kv_cache_bytes(INT64_MAX, 2, 2, 1), std::nullopt);
}

TEST(CampaignAdmission, MemoryUpToUtilisationPlusSlack) {
  // 100 bytes at 0.80: below 85.
  EXPECT_TRUE(fits_memory(50, 34, 100, 0.80));
  EXPECT_FALSE(fits_memory(50, 36, 100, 0.80));
}

class CampaignPreflight : public testing::Test {
 protected:
  std::optional<Gate> check() {
    json::Value facts = json::Value::object();
    return preflight(cell_, profile_, guards_, memory_, facts);
  }
  Cell cell_{.campaign_id = "c",
             .profile_id = "p",
             .model = "m",
             .configured_window = 131072,
             .target_tokens = 128000,
             .output_tokens = 64,
             .prompt_tolerance_tokens = 64,
             .repeats = 4,
             .concurrency = 1,
             .base_url = "u",
             .environment_class = "isolated"};
  Profile profile_{.id = "p", .model = "m", .window_limit_tokens = 131072};
  Guards guards_;
  MemoryFacts memory_{.total_bytes = int64_t{16} << 30, .swap_used_bytes = 0};
};

TEST_F(CampaignPreflight, NothingStandsInTheWay) {
  EXPECT_FALSE(check());
}

TEST_F(CampaignPreflight, ATargetBeyondTheWindowDoesNotApply) {
  cell_.target_tokens = 192000;
  const auto gate = check();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->status, CellStatus::not_applicable);
  EXPECT_EQ(gate->why.code, "CAMPAIGN-NOT-ADMITTED");
}

TEST_F(CampaignPreflight, ADeclaredOutcomeHoldsForItsTargetOnly) {
  profile_.outcome = DeclaredOutcome{.status = CellStatus::capacity_gated,
                                     .reason = "swapped at this length",
                                     .target_tokens = 128000};
  const auto gate = check();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->status, CellStatus::capacity_gated);
  EXPECT_EQ(gate->why.detail, "swapped at this length");
  cell_.target_tokens = 64000;
  EXPECT_FALSE(check());
}

TEST_F(CampaignPreflight, TooLargeForTheMemory) {
  // 8 GiB of weights + 7.816 GiB of cache against 0.85 x 16 GiB = 13.6 GiB.
  profile_.kv_bytes_per_token = 65536;
  EXPECT_FALSE(check());
  profile_.weights_bytes = int64_t{8} << 30;
  const auto gate = check();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->status, CellStatus::capacity_gated);
  EXPECT_EQ(gate->why.code, "CAMPAIGN-CAPACITY");
}

TEST_F(CampaignPreflight, ASwappingMachineMeasuresNothing) {
  memory_.swap_used_bytes = 1;
  const auto gate = check();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->status, CellStatus::capacity_gated);
  EXPECT_EQ(gate->why.code, "CAMPAIGN-SWAP-IN-USE");
  guards_.swap_bytes_max = 1;
  EXPECT_FALSE(check());
}

TEST(CampaignStatus, ExitCodes) {
  EXPECT_EQ(exit_of(CellStatus::success), 0);
  EXPECT_EQ(exit_of(CellStatus::not_applicable), 0);
  for (const CellStatus status : {CellStatus::failed, CellStatus::capacity_gated,
                                  CellStatus::unsupported, CellStatus::aborted}) {
    EXPECT_EQ(exit_of(status), 1);
    EXPECT_EQ(status_from(name_of(status)), status);
  }
  EXPECT_FALSE(status_from("fine"));
}

}  // namespace
}  // namespace assay::load
