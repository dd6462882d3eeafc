#include "engine/app/load.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "cli/program.h"
#include "engine/gguf/file.h"

namespace assay::engine::app {

Result<Loaded> load(const std::string& path, int threads) {
  const char* isa = std::getenv("ASSAY_FORCE_ISA");
  Loaded loaded;
  TRY(backend, backend::create_cpu({threads, isa == nullptr ? "" : isa}));
  loaded.backend = std::move(backend);
  TRY(files, gguf::open_model(path));
  if (files.head) {
    loaded.warnings.push_back(
        cat("the draft head ", files.head->path().string(), " is not used: decoding is serial"));
  }
  TRY(model, model::Model::load(std::move(files.model)));
  loaded.model = std::make_unique<model::Model>(std::move(model));
  for (std::string& warning : loaded.model->warnings()) {
    loaded.warnings.push_back(std::move(warning));
  }
  return loaded;
}

int exit_of(const Refusal& refusal) {
  struct Row {
    std::string_view prefix;
    int exit;
  };
  // What the command line asked for, then what the machine cannot do; everything else is a file
  // that could not be read or is not what it should be.
  static constexpr Row kRows[] = {
      {"USAGE-", cli::kUsage},          {"WORKER-COMMAND", cli::kUsage},
      {"BACKEND-THREADS", cli::kUsage}, {"DECODE-CONTEXT", cli::kUsage},
      {"DECODE-EMPTY", cli::kUsage},    {"DECODE-SAMPLING", cli::kUsage},
      {"DECODE-NO-DRAFT", cli::kUsage}, {"KERNEL-ISA-", cli::kNotReady},
      {"BACKEND-KV-", cli::kNotReady},
  };
  for (const Row& row : kRows) {
    if (refusal.code.starts_with(row.prefix)) return row.exit;
  }
  return cli::kInputOutput;
}

}  // namespace assay::engine::app
