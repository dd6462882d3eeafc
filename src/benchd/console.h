// What a person sees while a verb runs: whole lines on stderr, each with the verb's name in front,
// and on a terminal one live line that says what is going on right now. Nothing with --quiet.
//
// The live line changes only between measurements. A clock that ticked on the screen during a
// window would cost the engine under test a share of the machine.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "cli/program.h"

namespace assay::benchd {

class Console {
 public:
  explicit Console(const cli::Invocation& invocation);
  ~Console();  // takes the live line away
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// A whole line, "benchd iterate: text". May be called from any thread (an engine's stderr).
  void line(std::string_view text);
  /// The live line; replaced by the next. Nothing unless stderr is a terminal.
  void live(std::string_view text);
  void clear_live();

 private:
  const cli::Invocation& invocation_;
  bool terminal_;
  bool live_shown_ = false;
  std::mutex mutex_;
};

}  // namespace assay::benchd
