// Interrupt: Ctrl-C ends a generation between two tokens, with everything printed that was made.
#pragma once

namespace assay::engine::app {

/// While one lives, SIGINT and SIGTERM set a flag; before `streaming()` was called they end the
/// process at once with exit code 130, because nothing has been printed yet. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void streaming();
  [[nodiscard]] bool requested() const;
};

}  // namespace assay::engine::app
