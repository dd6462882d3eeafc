// One envelope with many rows, from memory to a shard in a folder: what publishing costs beside
// converting. Every part is what `assay-publish publish` does, in its order.
//
//   check   the semantic rules over all rows, and the schema over the rest
//   shard   the Parquet bytes, with the digest of the canonical envelope in their footer
//   store   the name from the bytes' digest, the file written, flushed and linked into place
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/shard.h"
#include "publish/store.h"
#include "publish/validate.h"

namespace assay::bench {
namespace {

using publish::Envelope;
using publish::ResultRow;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor time of this process so far: what others do on the machine is not in it.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Latencies of requests: four metrics a request, distinct by their tags.
Envelope envelope_of(size_t rows) {
  Envelope envelope;
  envelope.head = json::Value::object(
      {{"schema_version", "1"},
       {"timestamp", "2026-04-24T18:30:00Z"},
       {"git_sha", "0123abc"},
       {"trigger", "local"},
       {"suite", "ttft"},
       {"model", "bench/model"},
       {"system", json::Value::object({{"os", "os"}, {"chip", "chip"}, {"memory_gb", 8}})},
       {"errors", json::Value::array()}});
  constexpr const char* kMetrics[] = {"ttft_ms", "e2el_ms", "itl_mean_ms", "tpot_ms"};
  envelope.results.reserve(rows);
  uint64_t state = 1;
  for (size_t i = 0; i < rows; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ResultRow row;
    row.name = "request";
    row.metric = kMetrics[i % 4];
    row.unit = "ms";
    row.value = static_cast<double>(state >> 40) / 1000.0;
    row.duration_seconds = static_cast<double>(state >> 44) / 100.0;
    row.tag("run_index", cat(i / 4));
    row.tag("phase", i % 7 == 0 ? "warmup" : "measured");
    envelope.results.push_back(std::move(row));
  }
  return envelope;
}

void print(std::string_view figure, double value, std::string_view unit, size_t rows) {
  std::printf("%s\n", json::write(json::Value::object({{"figure", figure},
                                                       {"value", value},
                                                       {"unit", unit},
                                                       {"rows", static_cast<uint64_t>(rows)}}))
                          .c_str());
}

int run(size_t rows) {
  const Envelope envelope = envelope_of(rows);
  const double base_mib = peak_mib();
  std::string pattern = (std::filesystem::temp_directory_path() / "publish_bench.XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const auto store = publish::open_file_store(folder);

  const double begin = seconds_now(), cpu_begin = cpu_seconds();
  const auto problems = publish::check_semantics(envelope, {});
  const double checked = seconds_now();
  const auto bytes = publish::write_shard(envelope);
  const double written = seconds_now();
  const std::string path = bytes ? publish::shard_path(envelope, *bytes) : "";
  const auto stored =
      bytes ? store->put_once(path, *bytes) : Result<publish::PutOutcome>(bytes.refusal());
  const double done = seconds_now(), cpu = cpu_seconds() - cpu_begin;
  const double peak = peak_mib();

  bool right = problems.empty() && bytes && stored;
  if (right) {  // what was written reads back
    const auto again = store->get(path);
    const auto shard = again && *again
                           ? publish::read_shard(**again)
                           : Result<publish::Shard>(Refusal(publish::kShardUnreadable, ""));
    right = shard && shard->rows == rows &&
            std::get<double>(shard->at("value", rows - 1)) == envelope.results.back().value;
  }
  std::filesystem::remove_all(folder);
  if (!right) {
    std::fprintf(stderr, "publish_bench: %s\n",
                 !problems.empty() ? problems[0].message.c_str()
                 : !bytes          ? bytes.refusal().text().c_str()
                 : !stored         ? stored.refusal().text().c_str()
                                   : "the shard does not read back as it was written");
    return 1;
  }
  std::fprintf(stderr, "read back: %zu rows, last value equal\n", rows);
  print("publish_seconds", done - begin, "s", rows);
  print("publish_cpu_seconds", cpu, "s", rows);
  print("publish_check_seconds", checked - begin, "s", rows);
  print("publish_shard_seconds", written - checked, "s", rows);
  print("publish_store_seconds", done - written, "s", rows);
  print("publish_shard_bytes", static_cast<double>(bytes->size()), "bytes", rows);
  print("publish_peak_memory", peak, "MiB", rows);
  print("publish_envelope_memory", base_mib, "MiB", rows);
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  CLI::App app("Rows of one envelope to one shard.");
  size_t rows = 1'000'000;
  app.add_option("--rows", rows, "Result rows.")->check(CLI::Range(size_t{1}, size_t{50'000'000}));
  CLI11_PARSE(app, argc, argv);
  return assay::bench::run(rows);
}
