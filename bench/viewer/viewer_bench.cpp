// viewer_bench [--shards N] [--rounds N] [--store DIR]: cold and warm time from a store to the text
// of its index. Checks that both texts are equal and hold every shard before it prints a figure.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bench/demo_store/demo_store.h"
#include "view/catalog.h"

namespace {

namespace fs = std::filesystem;
using assay::cat;

int fail(std::string_view what) {
  std::fprintf(stderr, "viewer_bench: %s\n", std::string(what).c_str());
  return 3;
}

struct Listing {
  double seconds = 0;
  double cpu_seconds = 0;  // of all threads: what a busy machine does not change
  std::string json{};
  size_t shards = 0, read_anew = 0;
};

assay::Result<Listing> list_once(const std::string& url, const fs::path& cache) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  TRY(catalog, assay::view::Catalog::open(url, cache));
  TRY(index, catalog.list());
  Listing out;
  out.json = assay::view::index_json(index);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  out.shards = index.files.size();
  out.read_anew = catalog.counts().read_anew;
  return out;
}

void print(std::string_view figure, double value, std::string_view unit, size_t shards) {
  std::printf("{\"figure\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"shards\":%zu,\"threads\":%u}\n",
              std::string(figure).c_str(), assay::format_double(value).c_str(),
              std::string(unit).c_str(), shards, std::thread::hardware_concurrency());
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t shards = 10'000, rounds = 5;
  fs::path folder;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string_view value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--shards") {
      shards = assay::parse_uint64(value).value_or(0);
    } else if (flag == "--rounds") {
      rounds = assay::parse_uint64(value).value_or(0);
    } else if (flag == "--store" && !value.empty()) {
      folder = fs::absolute(value);
    } else {
      shards = 0;
    }
  }
  if (shards == 0 || rounds == 0) {
    std::fprintf(stderr, "usage: viewer_bench [--shards N] [--rounds N] [--store DIR]\n");
    return 2;
  }

  std::string pattern = (fs::temp_directory_path() / "viewer_bench_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail("no temporary folder");
  const fs::path work = pattern;
  if (folder.empty()) folder = work / "store";
  const auto run = [&]() -> int {
    if (!fs::exists(folder / "data")) {
      std::fprintf(stderr, "viewer_bench: writing %zu shards to %s\n", static_cast<size_t>(shards),
                   folder.c_str());
      const auto store = assay::publish::open_file_store(folder);
      const auto written = assay::demo::write_demo_store(*store, {.shards = shards});
      if (!written) return fail(written.refusal().text());
    }
    const std::string url = cat("file://", folder.string());
    const auto cold = list_once(url, work / "cache");
    if (!cold) return fail(cold.refusal().text());
    std::vector<double> warm, warm_cpu;
    for (uint64_t i = 0; i < rounds; ++i) {
      const auto again = list_once(url, work / "cache");
      if (!again) return fail(again.refusal().text());
      if (again->json != cold->json || again->read_anew != 0) return fail("the warm index differs");
      warm.push_back(again->seconds);
      warm_cpu.push_back(again->cpu_seconds);
    }
    std::sort(warm.begin(), warm.end());
    std::sort(warm_cpu.begin(), warm_cpu.end());
    std::fprintf(stderr, "viewer_bench: %zu runs, %zu files read cold, both texts equal\n",
                 cold->shards, cold->read_anew);
    print("index_cold", cold->seconds, "s", cold->shards);
    print("index_cold_cpu", cold->cpu_seconds, "s", cold->shards);
    print("index_warm", warm[warm.size() / 2], "s", cold->shards);
    print("index_warm_cpu", warm_cpu[warm_cpu.size() / 2], "s", cold->shards);
    print("index_bytes", static_cast<double>(cold->json.size()), "bytes", cold->shards);
    return 0;
  };
  const int status = run();
  std::error_code ignored;
  fs::remove_all(work, ignored);
  return status;
}
