// What `convert` and `publish` share: the flags of a run's context and of the log, and files to
// checked envelopes.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "cli/program.h"
#include "publish/commands/log.h"
#include "publish/convert.h"

namespace assay::publish {

[[nodiscard]] std::vector<cli::Flag> conversion_flags();

/// An envelope as it may be printed and stored: complete, without what must not be published, and
/// checked. Nothing can be added to it.
class FinishedEnvelope {
 public:
  /// `full` after make_private; `strict` with only the upstream's fields.
  FinishedEnvelope(Envelope full, bool strict);

  [[nodiscard]] const Envelope& stored() const { return stored_; }
  /// All facts of the run, where `stored` has some as tags.
  [[nodiscard]] const json::Value& facts() const { return facts_ ? *facts_ : stored_.head; }
  /// The envelope that follows has this run as its control.
  [[nodiscard]] bool is_control() const { return stored_.control_of_next; }

 private:
  Envelope stored_;
  std::optional<json::Value> facts_;
};

/// Envelopes of all files, validated; a control's stands right before the one that names it. On a
/// problem it is logged and `exit` is its code.
struct Converted {
  std::vector<FinishedEnvelope> envelopes{};
  int exit = cli::kOk;
};
[[nodiscard]] Converted convert_files(const cli::Invocation& invocation, const Log& log);

}  // namespace assay::publish
