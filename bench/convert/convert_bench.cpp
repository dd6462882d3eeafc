// Converting large result files: bytes of input a second, from the file to the composed envelope,
// one line a kind. The file is in the page cache.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/text.h"
#include "documents.h"
#include "publish/convert.h"
#include "publish/privacy.h"

namespace assay::bench {
namespace {

// Processor time of this process so far: what others do on the machine is not in it.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Figure {
  double mb_per_s = 0;      // 10^6 bytes, by the clock
  double mb_per_cpu_s = 0;  // by processor time
  size_t results = 0;
};

Result<Figure> measure(const std::filesystem::path& path, std::string_view kind, int rounds) {
  publish::RunContext context;
  context.suite = "throughput";
  context.git_sha = "0123abc";
  context.max_tokens = 64;
  context.model = "bench/model";
  Figure figure;
  const double size = static_cast<double>(std::filesystem::file_size(path));
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_seconds();
    TRY(file, publish::read_tool_file(path, kind));
    TRY(envelopes, publish::convert_file(file, kind, context));
    for (publish::Envelope& envelope : envelopes) publish::make_private(envelope);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    figure.mb_per_cpu_s = std::max(figure.mb_per_cpu_s, size / (cpu_seconds() - cpu_begin) / 1e6);
    figure.mb_per_s = std::max(figure.mb_per_s, size / seconds / 1e6);
    figure.results = 0;
    for (const publish::Envelope& envelope : envelopes) figure.results += envelope.results.size();
  }
  return figure;
}

int run(const std::vector<std::string>& wanted, size_t megabytes, int rounds) {
  std::string pattern = (std::filesystem::temp_directory_path() / "convert_bench.XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  int exit = 0;
  for (const publish::Kind& kind : publish::kinds()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), kind.name) == wanted.end())
      continue;
    const std::filesystem::path path = folder / "document";
    const std::string document = large_document(kind.name, megabytes * 1000000);
    std::ofstream(path, std::ios::binary) << document;
    const auto figure = measure(path, kind.name, rounds);
    if (!figure || figure->results == 0) {
      std::fprintf(stderr, "convert_bench: %s: %s\n", std::string(kind.name).c_str(),
                   figure ? "no result" : figure.refusal().text().c_str());
      exit = 1;
      continue;
    }
    std::printf(
        "%s\n",
        json::write(json::Value::object({{"figure", "convert_input"},
                                         {"kind", kind.name},
                                         {"value", figure->mb_per_s},
                                         {"unit", "MB/s"},
                                         {"per_cpu_second", figure->mb_per_cpu_s},
                                         {"bytes", static_cast<uint64_t>(document.size())},
                                         {"results", static_cast<uint64_t>(figure->results)},
                                         {"grows_by", grows_by(kind.name)}}))
            .c_str());
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  return exit;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  CLI::App app("Megabytes of input a second, per kind of result file.");
  std::vector<std::string> kinds;
  size_t megabytes = 40;
  int rounds = 3;
  app.add_option("--kind", kinds, "Only these kinds.");
  app.add_option("--megabytes", megabytes, "Size of each file.")->check(CLI::Range(1, 2000));
  app.add_option("--rounds", rounds, "The best of this many counts.")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  return assay::bench::run(kinds, megabytes, rounds);
}
