#include "publish/privacy.h"

#include <gtest/gtest.h>

namespace assay::publish {
namespace {

std::string cut(std::string text) {
  make_private(text);
  return text;
}

TEST(HomeFolders, LoseTheirOwnersName) {
  EXPECT_EQ(cut("/home/alice/models/x.gguf"), "~/models/x.gguf");
  EXPECT_EQ(cut(R"(C:\Users\eve\llama.cpp)"), R"(C:~\llama.cpp)");
  EXPECT_EQ(cut("/Users/bob/a b"), "~/a b");
  EXPECT_EQ(cut("/home/alice"), "~");
  EXPECT_EQ(cut("/var/home/alice/x and /Users/bob/y"), "/var~/x and ~/y");
  EXPECT_EQ(cut("file:///home/alice/x"), "file://~/x");
  // Doubled separators, as JSON in a text has them; capitals do not count on that system.
  EXPECT_EQ(cut(R"(C:\\Users\\eve\\x)"), R"(C:~\\x)");
  EXPECT_EQ(cut("/home//alice/x"), "~/x");
  EXPECT_EQ(cut(R"(c:\users\Eve\x)"), R"(c:~\x)");
  EXPECT_EQ(cut(R"(C:\Users\Ann Smith\x)"), R"(C:~\x)");
  EXPECT_EQ(cut(R"(C:\Users\ann and D:\x)"), R"(C:~ and D:\x)");
  EXPECT_EQ(cut("('/home/alice', 1)"), "('~', 1)");
}

TEST(HomeFolders, OtherPathsStay) {
  for (const char* text : {"/home", "home/alice", "/homework/alice/x", "/srv/Users", "~/x",
                           "https://host/users/ann", "/opt/models/home.gguf", "a/b", ""}) {
    EXPECT_EQ(cut(text), text);
  }
}

TEST(HostNames, AreTakenOutOfTheMachinesFacts) {
  Envelope run;
  run.head = *json::parse(
      R"({"system":{"os":"o","hostname":"annes-laptop","topology":{"world_size":2,"nodes":[)"
      R"({"hostname":"annes-laptop","chip":"c"},{"chip":"d"}]}},"hostname":"a field of its own"})");
  remove_host_names(run);
  EXPECT_EQ(
      json::write(run.head),
      R"({"system":{"os":"o","topology":{"world_size":2,"nodes":[{"chip":"c"},{"chip":"d"}]}},)"
      R"("hostname":"a field of its own"})");
  EXPECT_EQ(canonical_json(run).find("annes"), std::string::npos);
  Envelope odd;  // nothing of the kind is nothing to do
  odd.head = *json::parse(R"({"system":{"topology":[1]}})");
  remove_host_names(odd);
  EXPECT_EQ(json::write(odd.head), R"({"system":{"topology":[1]}})");
}

TEST(HostNames, StayWhereTheyAreAskedFor) {
  Envelope run;
  run.head = *json::parse(R"({"system":{"hostname":"box"}})");
  make_private(run, {.keep_host_names = true});
  EXPECT_EQ(json::write(run.head), R"({"system":{"hostname":"box"}})");
  make_private(run);
  EXPECT_EQ(json::write(run.head), R"({"system":{}})");
}

TEST(Privacy, ReachesEveryTextOfAnEnvelope) {
  Envelope run;
  run.head = *json::parse(
      R"({"model":"/home/ann/x","serving":{"stack":"s --api-key abc","served_model":"m"},)"
      R"("errors":["http://u:p@h/ failed","fine"],"provenance":{"checkpoint":"/Users/ann/x",)"
      R"("files":[{"name":"/home/ann/w","bytes":1}]},"system":{"container":"r?token=abc"}})");
  run.results.resize(2);
  for (ResultRow& row : run.results) {
    row.name = "at /home/ann/x";
    row.metric = "m password=abc";
    row.unit = "ms";
    // In the second row another key stands in the same place.
    row.tag(&row == &run.results[0] ? "hf_token" : "max_tokens", "512");
    row.tag("command", "run --token abc");
    row.tag("n_tokens", "5");
    row.tag("hf_abcdefghij0123456789", "1");
  }
  make_private(run);
  EXPECT_EQ(json::write(run.head),
            R"({"model":"~/x","serving":{"stack":"s --api-key ***","served_model":"m"},)"
            R"("errors":["http://***@h/ failed","fine"],"provenance":{"checkpoint":"~/x",)"
            R"("files":[{"name":"~/w","bytes":1}]},"system":{"container":"r?token=***"}})");
  EXPECT_EQ(run.results[0].name, "at ~/x");
  EXPECT_EQ(run.results[0].metric, "m password=***");
  EXPECT_EQ(run.results[0].unit, "ms");
  EXPECT_EQ(
      run.results[0].tags,
      (Tags{{"hf_token", "***"}, {"command", "run --token ***"}, {"n_tokens", "5"}, {"***", "1"}}));
  EXPECT_EQ(
      run.results[1].tags,
      (Tags{
          {"max_tokens", "512"}, {"command", "run --token ***"}, {"n_tokens", "5"}, {"***", "1"}}));
}

TEST(Privacy, MaskedKeysStayUnique) {
  Envelope run;
  run.results.resize(1);
  run.results[0].tags = {{"hf_abcdefghij0123456789", "1"}, {"hf_9876543210jihgfedcba", "2"}};
  make_private(run);
  EXPECT_EQ(run.results[0].tags, (Tags{{"***", "1"}}));
}

}  // namespace
}  // namespace assay::publish
