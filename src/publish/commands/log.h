// What the verbs say while they work, on stderr: progress lines as every program of ours has them,
// or with --log-format lines with time and level, as text or as one JSON object each.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/refusal.h"
#include "cli/program.h"
#include "publish/validate.h"

namespace assay::publish {

enum class Level { debug, info, warning, error, critical };

/// --log-format and --log-level.
[[nodiscard]] std::vector<cli::Flag> log_flags();

class Log {
 public:
  /// `invocation` must outlive this.
  explicit Log(const cli::Invocation& invocation);

  void say(Level level, std::string_view text) const;
  void info(std::string_view text) const { say(Level::info, text); }
  void warning(std::string_view text) const { say(Level::warning, text); }
  /// What is wrong with one file: in the plain form a list under its name ("  - message (at
  /// path)"), else a line each. True when one is no warning.
  bool problems(std::string_view file, const std::vector<Problem>& problems) const;
  /// Prints the refusal in the chosen form and returns `exit`.
  int refuse(const Refusal& refusal, int exit) const;

 private:
  enum class Form { progress, text, json };
  void write(Level level, std::string_view text, std::string_view code) const;
  void write_json(Level level, json::Value facts, std::string_view text) const;

  const cli::Invocation* invocation_;
  Form form_ = Form::progress;
  Level least_ = Level::info;
};

}  // namespace assay::publish
