// Our hub store and the hub's own Python client on the same (test) hub: each reads what the other
// wrote, so neither the store nor the test hub speaks a dialect of ours. ASSAY_HUB_PYTHON names a
// Python that has huggingface_hub.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "process.h"
#include "publish/run_index.h"
#include "publish/store.h"
#include "support/fake_hub.h"

namespace assay::publish {
namespace {

using testing_support::FakeHub;
using testing_support::HubRules;

TEST(HubPeer, EachReadsWhatTheOtherWrote) {
  const char* python = std::getenv("ASSAY_HUB_PYTHON");
  if (python == nullptr || *python == '\0')
    GTEST_SKIP() << "ASSAY_HUB_PYTHON names no Python with huggingface_hub";
  for (const size_t chunk : {size_t{0}, size_t{4000}}) {
    HubRules rules;
    rules.chunk_bytes = chunk;
    FakeHub hub(rules);
    const auto peer = [&](const std::string& verb) {
      return e2e::run_process({.argv = {python, ASSAY_SOURCE_DIR "/tests/e2e/hub_peer.py", verb,
                                        hub.server().url(), rules.token},
                               .working_directory = {},
                               .environment = {},
                               .file_bytes_max = {}});
    };
    const auto written = peer("write");
    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(hub.commits().size(), 2u);
    EXPECT_EQ(trim(written.out), hub.commits().back().oid);

    StoreOptions options{.for_writing = true, .token = rules.token};
    options.environment = [&](const std::string& name) {
      return name == "HF_ENDPOINT" ? std::optional(hub.server().url()) : std::nullopt;
    };
    const auto store = *open_store("hf://datasets/acme/results", options);
    const auto theirs = store->get("data/run-peer.parquet");
    ASSERT_TRUE(theirs) << theirs.refusal().text();
    EXPECT_EQ((*theirs)->size(), 9000u);
    EXPECT_EQ(**store->get("metadata/peer.json"), "{}");

    IndexEntry entry;
    entry.path = "data/run-ours.parquet";
    const auto ours = publish_with_entry(*store, {entry.path, "PAR1 ours"}, entry, "ours");
    ASSERT_TRUE(ours) << ours.refusal().text();
    const auto read = peer("read");
    ASSERT_EQ(read.exit_code, 0) << read.err;
    EXPECT_NE(read.out.find("data/run-ours.parquet 9 " + to_hex("PAR1 ours") + "\n"),
              std::string::npos)
        << read.out.substr(0, 500);
    EXPECT_NE(read.out.find("data/run-peer.parquet 9000 "), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::publish
