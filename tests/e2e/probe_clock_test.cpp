// A probe while somebody sets the machine's clock: the wall clock jumps by an hour between two
// measured runs, and no figure knows. The same jump under a program that measures by the wall clock
// shows that there was one.
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "process.h"
#include "support/chat_model.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_SANITIZED 1
#endif
#endif

namespace assay {
namespace {

namespace fs = std::filesystem;
using json::Value;
using support::ChatAnswer;
using support::ChatModel;
using support::ChatQuestion;
using Clock = std::chrono::steady_clock;

constexpr double kStep = 3600;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class ProbeClock : public testing::Test {
 protected:
  void SetUp() override {
#ifdef ASSAY_SANITIZED
    GTEST_SKIP() << "a sanitizer's runtime must be the first library: nothing can be preloaded";
#endif
    std::string name = (fs::temp_directory_path() / "assay-clock-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  e2e::ProcessResult run(std::vector<std::string> argv, double step) const {
    e2e::ProcessRequest request{.argv = std::move(argv),
                                .working_directory = folder_,
                                .environment = {},
                                .file_bytes_max = {}};
    if (step != 0) {
      request.environment = {{"LD_PRELOAD", ASSAY_CLOCK_STEP},
                             {"ASSAY_STEP_FILE", moment().string()},
                             {"ASSAY_STEP_SECONDS", cat(static_cast<int>(step))}};
    }
    return e2e::run_process(request);
  }
  // The file whose making is the moment of the jump.
  fs::path moment() const {
    return folder_ / "now";
  }

  fs::path folder_;
};

// Every number of the document whose name says that it is a time span in seconds.
void for_spans(const Value& value, bool is_span, const std::function<void(double)>& take) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.members()) {
      const bool named = key.ends_with("_s") && !key.ends_with("tok_s");
      const bool of_spread = is_span && (key == "median" || key == "min" || key == "max");
      for_spans(member, named || of_spread, take);
    }
    return;
  }
  if (value.is_array()) {
    for (const Value& item : value.items()) for_spans(item, is_span, take);
    return;
  }
  if (is_span && value.is_number()) take(*value.as_double(""));
}

// "2026-11-30T12:00:00.250Z" in seconds.
double utc(const Value& value) {
  std::tm parts{};
  const char* rest = strptime(value.string().c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return -1;
  return static_cast<double>(timegm(&parts)) +
         *parse_double(std::string_view(rest).substr(0, std::string_view(rest).size() - 1));
}

TEST_F(ProbeClock, AJumpOfTheWallClockIsInNoFigure) {
  for (const double step : {kStep, -kStep}) {
    fs::remove(moment());
    fs::remove(moment().string() + ".seen");
    // 0 readiness, 1 warm-up, 2 to 4 measured: the clock jumps while the second is answered.
    ChatModel model([this](const ChatQuestion& question) {
      if (question.index == 3) std::ofstream(moment()) << "jump";
      return ChatAnswer{.answer_tokens = 8,
                        .first_pause = std::chrono::milliseconds(5),
                        .pause = std::chrono::milliseconds(2)};
    });
    const auto start = Clock::now();
    const auto result = run(
        {ASSAY_BIN_DIR "/assay-load", "probe", "--base-url", model.server().base_url(),
         "--max-tokens", "8", "--repeats", "3", "--width", "2", "--out", "probe.json", "--force"},
        step);
    const double elapsed = seconds_since(start);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    ASSERT_LT(elapsed, kStep) << "the bounds below would not see a jump";
    const auto seen = read_file(moment().string() + ".seen");
    ASSERT_TRUE(seen) << "the library was not loaded";
    EXPECT_EQ(*seen, cat(static_cast<int>(step))) << "the program's wall clock did not jump";

    const auto bytes = read_file(folder_ / "probe.json");
    ASSERT_TRUE(bytes);
    const auto document = json::parse(*bytes);
    ASSERT_TRUE(document);
    int spans = 0;
    for_spans(*document, false, [&](double span) {
      ++spans;
      EXPECT_GE(span, 0);
      EXPECT_LE(span, elapsed);
    });
    EXPECT_GT(spans, 50);  // six requests with eight stamps each, and their figures
    double last = utc(*document->find("started_utc"));
    for (const Value& run_of : document->find("sequential_runs")->items()) {
      // First token after 5 ms at the earliest, then seven more 2 ms apart.
      EXPECT_GE(*run_of.find("ttft_s")->as_double(""), 0.005);
      EXPECT_GE(*run_of.find("total_s")->as_double(""), 0.005 + 7 * 0.002);
      const double sent = utc(*run_of.find("sent_utc"));
      EXPECT_GE(sent, last);
      last = sent;
    }
    const double finished = utc(*document->find("finished_utc"));
    EXPECT_GE(finished, last);
    // Both are written to the millisecond.
    EXPECT_LE(finished - utc(*document->find("started_utc")), elapsed + 0.002);
  }
}

TEST_F(ProbeClock, AProgramThatMeasuresByTheWallClockIsOffByAnHour) {
  for (const double step : {kStep, -kStep, 0.0}) {
    fs::remove(moment());
    const auto start = Clock::now();
    const auto result = run({ASSAY_CLOCK_STOPWATCH, moment().string()}, step);
    const double elapsed = seconds_since(start);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto lines = split(trim(result.out), '\n');
    ASSERT_EQ(lines.size(), 4u) << result.out;
    for (size_t i = 0; i < 4; ++i) {
      // time() counts whole seconds, so one may pass between two readings.
      const double off = i == 3 ? 0 : step;
      EXPECT_GE(*parse_double(lines[i]), off) << i;
      EXPECT_LE(*parse_double(lines[i]), off + elapsed + (i == 2 ? 1 : 0)) << i;
    }
  }
}

}  // namespace
}  // namespace assay
