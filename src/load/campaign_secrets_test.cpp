// What a server is given stays with it: not in a cell's files, its log or the campaign's words. And
// what cannot be measured is known before anything starts.
#include "load/campaign_secrets.h"

#include <gmock/gmock.h>

#include "load/campaign_fixture.h"
#include "load/campaign_run.h"
#include "load/refusals.h"

namespace assay::load {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string hidden(const std::vector<std::string>& argv, std::string text,
                   std::map<std::string, std::string> environment = {}) {
  ServerSpec server;
  server.argv = argv;
  server.environment = std::move(environment);
  return secrets_of(server).hidden(std::move(text));
}

TEST(CampaignSecrets, AreTheValuesOfFlagsHeadersUrlsAndVariablesThatNameThem) {
  const std::string text = "got hunter2, on port 8080 of host";
  const std::string safe = "got ***, on port 8080 of host";
  EXPECT_EQ(hidden({"server", "--api-key", "hunter2", "--port", "8080"}, text), safe);
  EXPECT_EQ(hidden({"server", "--api-key=hunter2"}, text), safe);
  EXPECT_EQ(hidden({"server", "--hf-token", "hunter2"}, text), safe);
  EXPECT_EQ(hidden({"server", "-H", "Authorization: Bearer hunter2"}, text), safe);
  EXPECT_EQ(hidden({"sh", "-c", "exec server --api-key 'hunter2' --port 8080"}, text), safe);
  EXPECT_EQ(hidden({"sh", "-c", "API_KEY=hunter2 exec server"}, text), safe);
  EXPECT_EQ(hidden({"server", "--upstream", "http://me:hunter2@host/v1"}, text), safe);
  EXPECT_EQ(hidden({"server"}, text, {{"LLAMA_API_KEY", "hunter2"}, {"PORT", "8080"}}), safe);
  EXPECT_EQ(hidden({"server"}, text, {{"PROXY", "http://me:hunter2@host"}}), safe);
}

TEST(CampaignSecrets, AreNothingElse) {
  const std::string text = "ctx 4096, 8080 tokens, model, http://host/v1, Bearer, abc";
  EXPECT_EQ(hidden({"server", "--ctx-size", "4096", "--max-tokens", "8080", "--model", "model",
                    "--url", "http://host/v1", "--api-key", "abc"},
                   text, {{"PORT", "8080"}}),
            text);
  EXPECT_EQ(hidden({"server", "--api-key"}, text), text);
}

class CampaignCheck : public CampaignFixture {
 protected:
  Status check(const std::string& text) {
    const auto manifest = parse_manifest(text);
    if (!manifest) return manifest.refusal();
    return check_campaign(*manifest, options_);
  }
  std::string refusal(const std::string& text) {
    const Status status = check(text);
    EXPECT_FALSE(status) << text;
    // The run refuses the same before it makes a folder.
    if (const auto manifest = parse_manifest(text)) {
      const auto outcome = run_campaign(*manifest, options_);
      EXPECT_FALSE(outcome);
      if (!outcome && !status) {
        EXPECT_EQ(outcome.refusal().text(), status.refusal().text());
      }
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
    return status ? "" : status.refusal().text();
  }
  std::string with_url(const std::string& url) const {
    std::string text = manifest(server());
    const std::string own = "http://127.0.0.1:${port}/v1";
    return text.replace(text.find(own), own.size(), url);
  }

  CampaignOptions options_{};
};

TEST_F(CampaignCheck, AManifestThatCanBeMeasuredPassesAndNothingIsMade) {
  EXPECT_TRUE(check(manifest(server())));
  EXPECT_TRUE(check(with_url("http://127.0.0.1:65535/v1")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
  EXPECT_TRUE(server_pids().empty());
}

TEST_F(CampaignCheck, UrlsThatCannotBeMeasured) {
  EXPECT_THAT(refusal(with_url("https://127.0.0.1:${port}/v1")),
              HasSubstr("LOAD-URL: profile `p`: `https://127.0.0.1:65535/v1`: https is not"));
  for (const char* port : {"0", "65536", "99999999", "x"}) {
    EXPECT_THAT(refusal(with_url(cat("http://127.0.0.1:", port, "/v1"))),
                HasSubstr("the port is not a number from 1 to 65535"));
  }
  EXPECT_THAT(refusal(manifest(R"({"argv":["s"],"ready_url":"https://127.0.0.1/"})")),
              HasSubstr("LOAD-URL: profile `p`"));
  for (const char* url : {"http://hunter2@127.0.0.1/v1", "http://me:hunter2@127.0.0.1/v1",
                          "https://me:hunter2@127.0.0.1/v1", "http://127.0.0.1/v1?api_key=hunter2",
                          "${NOSUCH:-http://me:hunter2@127.0.0.1/v1}"}) {
    const std::string text = refusal(with_url(url));
    EXPECT_THAT(text, HasSubstr("CAMPAIGN-MANIFEST: `base_url` holds a user, a password or a key"))
        << url;
    EXPECT_THAT(text, Not(HasSubstr("hunter2"))) << url;
  }
}

TEST_F(CampaignCheck, VariablesWithoutAValue) {
  const std::string unset = "CAMPAIGN-VARIABLE-UNSET: profile `p`: ${NOSUCH} is neither";
  EXPECT_THAT(refusal(with_url("http://${NOSUCH}/v1")), HasSubstr(unset));
  EXPECT_THAT(refusal(manifest(server({"${NOSUCH}"}))), HasSubstr(unset));
  EXPECT_THAT(refusal(manifest(
                  R"({"argv":["s"],"ready_url":"http://h/","environment":{"A":"${NOSUCH}"}})")),
              HasSubstr(unset));
  EXPECT_THAT(refusal(manifest(R"({"argv":["s"],"ready_url":"http://h:${NOSUCH}/"})")),
              HasSubstr(unset));
  options_.output_root = "";
  EXPECT_THAT(refusal(manifest(server())), HasSubstr("CAMPAIGN-MANIFEST: `output_root` is empty"));
  options_.output_root = "${NOSUCH}/runs";
  EXPECT_THAT(refusal(manifest(server())), HasSubstr("${NOSUCH} is neither"));
}

TEST_F(CampaignCheck, TheControlsServerCountsAndAProfileThatIsNotMeasuredDoesNot) {
  const std::string broken = R"(,"server":{"argv":["${NOSUCH}"],"ready_url":"http://h/"})";
  const auto with_second = [&](const std::string& more, const std::string& rest) {
    std::string text = manifest(server(), rest);
    return text.replace(text.find("}]"), 1,
                        cat(R"(},{"id":"q","model":"fake","window_limit_tokens":500)", more, "}"));
  };
  // No window is small enough for the second profile: it has no cells.
  EXPECT_TRUE(check(with_second(broken, "")));
  EXPECT_THAT(refusal(with_second(broken, R"(,"control":{"profile":"q"})")),
              HasSubstr("profile `q`: ${NOSUCH}"));
  EXPECT_TRUE(
      check(manifest(server({"${NOSUCH}"}), "",
                     R"(,"outcome":{"status":"unsupported","reason":"no such server here"})")));
}

TEST_F(CampaignCheck, WhatTheServerIsGivenIsInNoFileOfItsCell) {
  // A server that says its key, in words and in its environment, and ends.
  ASSERT_EQ(setenv("ASSAY_TEST_SECRET_KEY", "swordfish", 1), 0);
  const std::string text = manifest(
      R"({"argv":["/bin/sh","-c","echo key $2 and $PASSWORD and $3; echo api_key=unknown-1; exit 3",)"
      R"("sh","--api-key","hunter2","${ASSAY_TEST_SECRET_KEY}"],)"
      R"("environment":{"PASSWORD":"correct-horse"},"ready_url":"http://127.0.0.1:${port}/"})");
  const auto manifest_read = parse_manifest(text);
  ASSERT_TRUE(manifest_read) << manifest_read.refusal().text();
  std::string said;
  options_.progress = [&](std::string_view line) { said += cat(line, "\n"); };
  options_.memory = [] { return MemoryFacts{.total_bytes = int64_t{16} << 30}; };
  const auto outcome = run_campaign(*manifest_read, options_);
  unsetenv("ASSAY_TEST_SECRET_KEY");
  ASSERT_TRUE(outcome) << outcome.refusal().text();
  const CellRecord& record = outcome->cells.at(0);
  EXPECT_EQ(record.reason_code, kServerDied.code);
  const auto place = cell_folder(folder_ / "runs", record.cell);
  EXPECT_EQ(*read_file(place / "server.log"), "key *** and *** and ***\napi_key=unknown-1\n");
  EXPECT_THAT(record.diagnostics, testing::ElementsAre("key *** and *** and ***", "api_key=***"));
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    const std::string bytes = *read_file(entry.path());
    for (const char* secret : {"hunter2", "swordfish", "correct-horse"})
      EXPECT_THAT(bytes, Not(HasSubstr(secret))) << entry.path();
  }
  EXPECT_THAT(said, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace assay::load
