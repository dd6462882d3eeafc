#include "load/endpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "load/clock.h"
#include "load/refusals.h"

namespace assay::load {
namespace {

TEST(Endpoint, HostPortAndPath) {
  const auto endpoint = parse_endpoint("http://127.0.0.1:8080/v1/");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "127.0.0.1");
  EXPECT_EQ(endpoint->port, 8080);
  EXPECT_EQ(endpoint->path, "/v1");
  EXPECT_EQ(endpoint->base_url, "http://127.0.0.1:8080/v1");
}

TEST(Endpoint, PortAndPathMayBeLeftOut) {
  const auto endpoint = parse_endpoint("http://gpu-box");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "gpu-box");
  EXPECT_EQ(endpoint->port, 80);
  EXPECT_EQ(endpoint->path, "");
}

TEST(Endpoint, AddressesInBrackets) {
  const auto endpoint = parse_endpoint("http://[::1]:9000/api/v1");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "::1");
  EXPECT_EQ(endpoint->port, 9000);
}

TEST(Endpoint, EverythingElseIsRefusedByName) {
  for (const char* url :
       {"", "127.0.0.1:8080", "https://example.org/v1", "ftp://x", "http://", "http://:80",
        "http://h:0", "http://h:65536", "http://h:x", "http://h:", "http://[::1", "http://[::1]x",
        "http://[h]:1", "http://h/v1?x=1", "http://h/#x", "http://h /v1", "http://h\r\nX: y"}) {
    const auto endpoint = parse_endpoint(url);
    ASSERT_FALSE(endpoint) << url;
    EXPECT_EQ(endpoint.refusal().code, kUrl.code);
  }
}

TEST(Endpoint, AUserNameIsRefusedAndNotRepeated) {
  for (const char* url :
       {"http://me:hunter2@host/v1", "https://me:hunter2@host/v1", "me:hunter2@host",
        "ftp://me:hunter2@host", "http://me:hun/ter2@host", "http://me:hunter2@host ",
        "http://host/v1?api_key=hunter2", "https://host/v1?token=hunter2"}) {
    const auto endpoint = parse_endpoint(url);
    ASSERT_FALSE(endpoint) << url;
    for (const char* part : {"hunter2", "ter2"})
      EXPECT_EQ(endpoint.refusal().detail.find(part), std::string::npos) << url;
  }
  EXPECT_TRUE(parse_endpoint("http://host/@me/v1"));  // in a path it names nobody
}

TEST(Clock, DatesFollowFromOneAnchorAndTheMonotonicClock) {
  // 2026-04-24T18:30:00.250Z; 1777055400 = date -u -d 2026-04-24T18:30:00Z +%s.
  const WallAnchor anchor{.utc_ms = 1777055400250, .at = std::chrono::seconds(100)};
  EXPECT_EQ(anchor.utc(std::chrono::seconds(100)), "2026-04-24T18:30:00.250Z");
  EXPECT_EQ(anchor.utc(std::chrono::milliseconds(160'005)), "2026-04-24T18:31:00.255Z");
  EXPECT_EQ(anchor.utc(std::chrono::milliseconds(99'700)), "2026-04-24T18:29:59.950Z");
}

TEST(Clock, NeverGoesBack) {
  Stamp last = now();
  for (int i = 0; i < 1000; ++i) {
    const Stamp next = now();
    ASSERT_GE(next, last);
    last = next;
  }
}

// A wall clock that is set, or jumps, in the middle of a run must move no duration.
TEST(Clock, NothingButTheAnchorReadsTheWallClock) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_DIR "/src/load")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".cpp") || name.ends_with("_test.cpp") || name == "clock.cpp") continue;
    if (name.starts_with("campaign") || name.starts_with("verdict") ||
        name.starts_with("weight_proof")) {
      continue;  // they plan and compare days; they measure nothing
    }
    ++files;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text);
    for (const char* clock : {"system_clock", "CLOCK_REALTIME", "gettimeofday", "std::time(",
                              "high_resolution_clock", "time(nullptr)"}) {
      EXPECT_EQ(text->find(clock), std::string::npos) << name << " uses " << clock;
    }
  }
  EXPECT_GT(files, 10);
}

TEST(Clock, AWaitEndsWhenTheGuardSaysSo) {
  int asked = 0;
  const Guard guard = [&]() -> Status {
    if (++asked > 1) return Refusal(kStopped, "enough");
    return {};
  };
  const Status waited = sleep_until(now() + std::chrono::hours(1), guard);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.refusal().code, kStopped.code);
}

}  // namespace
}  // namespace assay::load
