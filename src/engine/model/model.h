// Model: one loaded model, immutable: file, hyper-parameters and bound weights.
//
// In:      an open GGUF file (one file or a shard set)
// Users:   decode (sessions) and the doors behind it. Several sessions may share a model.
// Memory   weights stay where the file is mapped; the model owns the file
// Threads  immutable after load
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/gguf/file.h"
#include "engine/model/hyper_parameters.h"
#include "engine/model/weights.h"

namespace assay::engine::model {

class Model {
 public:
  /// Refuses as read_hyper_parameters and bind_weights do.
  [[nodiscard]] static Result<Model> load(gguf::File file);

  [[nodiscard]] const gguf::File& file() const { return file_; }
  [[nodiscard]] const HyperParameters& hyper() const { return hyper_; }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  /// Sentences about the file that do not stop it from being used.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Reads every weight page once, so that the first forward pass meets no page fault. Asks the
  /// system to map the pages where it can (Linux 5.14), touches them elsewhere.
  void prefault() const;

 private:
  Model(gguf::File file, HyperParameters hyper, Weights weights);
  gguf::File file_;
  HyperParameters hyper_;
  Weights weights_;
};

}  // namespace assay::engine::model
