// view_demo_store DIR [--shards N] [--plain]: fills a folder with synthetic runs.
#include <cstdio>
#include <string_view>

#include "base/text.h"
#include "bench/demo_store/demo_store.h"

int main(int argc, char** argv) {
  assay::demo::DemoOptions options;
  std::string_view folder;
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--plain") {
      options.oddities = false;
    } else if (argument == "--shards" && i + 1 < argc) {
      const auto count = assay::parse_uint64(argv[++i]);
      good = good && count.has_value();
      options.shards = count.value_or(0);
    } else if (folder.empty() && !argument.starts_with('-')) {
      folder = argument;
    } else {
      good = false;
    }
  }
  if (!good || folder.empty()) {
    std::fprintf(stderr, "usage: view_demo_store DIR [--shards N] [--plain]\n");
    return 2;
  }
  const auto store = assay::publish::open_file_store(folder);
  const auto written = assay::demo::write_demo_store(*store, options);
  if (!written) {
    std::fprintf(stderr, "view_demo_store: %s\n", written.refusal().text().c_str());
    return 3;
  }
  std::printf("%zu shards in %s\n", written->size(), store->url().c_str());
  return 0;
}
