// A guidellm report of 100 MB, most of it single requests, is converted in less than 64 MiB: what
// no converter reads is read over, never kept.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/text.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReportBytes = 100'000'000;
constexpr long kResidentKibMax = 64 * 1024;

std::string statistics(double value) {
  return cat(R"({"successful": {"mean": )", value, R"(, "median": )", value,
             R"(, "min": 10, "max": 90, "count": 8, "total_sum": )", value * 8,
             R"(, "percentiles": {"p50": )", value, R"(, "p99": )", value, "}}}");
}

void write_report(const fs::path& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  const std::string head =
      cat(R"({"metadata": {"version": 1}, "args": {"model": "acme/tiny-1b"}, "benchmarks": [{
 "type_": "generative_benchmark", "config": {"strategy": {"type_": "concurrent", "streams": 2}},
 "duration": 4.0, "start_time": 1771584288.5, "metrics": {"request_totals": {"successful": 8, "errored": 0},
 "prompt_token_count": )",
          statistics(32), R"(, "output_token_count": )", statistics(16),
          R"(, "total_token_count": )", statistics(48), R"(, "time_to_first_token_ms": )",
          statistics(50.5), R"(}, "requests": {"successful": [)");
  std::string request = R"({"request_id": "r", "prompt": ")";
  for (int i = 0; i < 400; ++i) request += "The keeper said \\\"calm sea\\\" again. ";
  request += R"(", "token_times": [)";
  for (int i = 0; i < 200; ++i) request += cat(i == 0 ? "" : ", ", i * 0.013671875);
  request += "]}";
  std::fwrite(head.data(), 1, head.size(), file);
  for (size_t written = head.size(); written < kReportBytes; written += request.size() + 1) {
    if (written != head.size()) std::fputc(',', file);
    std::fwrite(request.data(), 1, request.size(), file);
  }
  std::fputs("]}}]}", file);
  ASSERT_EQ(std::fclose(file), 0);
}

TEST(PublishMemory, AHundredMegabytesInSixtyFour) {
  std::string pattern = (fs::temp_directory_path() / "memory.XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const fs::path report = folder / "benchmarks.json";
  write_report(report);
  ASSERT_GE(fs::file_size(report), kReportBytes);
  const fs::path out = folder / "out";
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(out.c_str(), "wb", stdout) == nullptr) ::_exit(126);
    const std::string path = report.string();
    ::execl(ASSAY_BIN_DIR "/assay-publish", "assay-publish", "convert", path.c_str(), "--suite",
            "throughput", "--git-sha", "0123abc", "--max-tokens", "64", "--print-envelope",
            "--quiet", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  rusage usage{};
  ASSERT_EQ(::wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_LT(usage.ru_maxrss, kResidentKibMax) << "KiB resident at most";
  RecordProperty("resident_kib", static_cast<int>(usage.ru_maxrss));
  EXPECT_GT(fs::file_size(out), 1000u) << "an envelope was printed";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay::e2e
