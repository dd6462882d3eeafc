// Load: from a path on the command line to a model and a backend, the way every verb does it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/backend/backend.h"
#include "engine/model/model.h"

namespace assay::engine::app {

struct Loaded {
  std::unique_ptr<model::Model> model;
  std::unique_ptr<backend::Backend> backend;
  std::vector<std::string> warnings;  // sentences for stderr
};

/// A GGUF file, the first shard of a set, or a folder with one model. `threads` 0: every CPU that
/// the process may run on. The kernel table is the best one, or what ASSAY_FORCE_ISA names.
/// Refuses as gguf, model and backend do.
[[nodiscard]] Result<Loaded> load(const std::string& path, int threads);

/// The exit code (cli/program.h) that goes with a refusal of the engine.
[[nodiscard]] int exit_of(const Refusal& refusal);

}  // namespace assay::engine::app
