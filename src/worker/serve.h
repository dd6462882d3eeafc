// The stdio loop: an Engine becomes a judged program.
#pragma once

#include <string>

#include "base/result.h"
#include "protocol/verb.h"
#include "worker/engine.h"

namespace assay::worker {

struct ServeOptions {
  /// 32 lower-case hex digits from the system's random source when empty.
  std::string nonce{};
  /// v1.1: free-run verbs, specs and their advertisement. Off: a strict v1 worker that refuses
  /// them.
  bool speculative = false;
  uint32_t count_max = protocol::kFreeRunCountMax;  // bound of free_decode_run's `count`
  int64_t steps_max = 65536;                        // bound of correctness's `steps`
};

/// `runtime-worker --weights PATH [--speculative-protocol v1.1] …`: what a judge puts on the
/// command line. Unknown arguments are kept aside, not refused.
struct WorkerCommand {
  std::string weights{};
  bool speculative = false;
  std::vector<std::string> rest{};
};
/// Refuses WORKER-COMMAND when the verb is not `runtime-worker`, a value is missing, or
/// --speculative-protocol has another value than v1.1.
[[nodiscard]] Result<WorkerCommand> parse_worker_command(int argc, const char* const* argv);

/// The process's protocol channel: private copies of the descriptors 0 and 1, which afterwards both
/// point at /dev/null, so that no library's print reaches the judge. Make it before any model code
/// runs.
class StdioChannel {
 public:
  [[nodiscard]] static Result<StdioChannel> take();
  StdioChannel(StdioChannel&& other) noexcept;
  StdioChannel& operator=(StdioChannel&&) = delete;
  ~StdioChannel();
  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }

 private:
  StdioChannel(int in, int out) : in_(in), out_(out) {}
  int in_;
  int out_;
};

/// Says hello, then answers one line with one line until `in` ends. One read buffer, one write per
/// answer. Refuses WORKER-IO (a read or write failed; a judge that closed its end included) and
/// LINE_TOO_LONG (after telling the judge).
[[nodiscard]] Status serve(Engine& engine, int in, int out, const ServeOptions& options);

/// serve() on the channel, plus the orphan watch: the process exits when its parent is gone (looked
/// at every 2 s), so that the weights' memory is freed. Ignores SIGPIPE.
[[nodiscard]] Status serve_stdio(Engine& engine, const StdioChannel& channel,
                                 const ServeOptions& options);

/// 32 lower-case hex digits from getrandom.
[[nodiscard]] std::string fresh_nonce();

}  // namespace assay::worker
