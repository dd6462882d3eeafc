// The server of a cell: started by the campaign, gone when the campaign is, however it ends.
//
// Between the campaign and the server stands a small process of ours, the keeper. It holds the read
// end of a pipe whose write end only the campaign has: when that closes (stop(), or the campaign
// was killed) the keeper ends the server's whole process group, SIGTERM first. When the keeper
// itself is killed, Linux ends the server.
//
// Errors    CAMPAIGN-SERVER-NOT-STARTED, CAMPAIGN-SERVER-DIED, CAMPAIGN-SERVER-NOT-READY,
//           CAMPAIGN-PORT-TAKEN.
// Threads   one thread at a time, but alive() may be asked from others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/clock.h"

namespace assay::load {

struct ServerCommand {
  std::vector<std::string> argv;  // argv[0] with a slash is a path, else looked up in PATH
  std::map<std::string, std::string> environment{};  // added to ours
  std::filesystem::path log{};                       // gets stdout and stderr
};

class ServerProcess {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ServerProcess>> start(const ServerCommand& command);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] bool alive();
  /// "exit code 3", "signal 9"; empty while it runs.
  [[nodiscard]] std::string end() const;
  /// Waits until it ends by itself: 0 to 255, or 128 + the signal that ended it.
  int wait_for_exit();
  /// Ends the server and waits until it is gone.
  void stop();

 private:
  ServerProcess() = default;
  void take_reports(bool wait);

  pid_t keeper_ = -1;
  int pid_ = 0;
  int life_ = -1;     // write end: closing it ends the server
  int reports_ = -1;  // read end: what the keeper saw
  mutable std::mutex mutex_;
  std::string end_;
  int exit_ = 128 + 9;
};

/// A port of the loopback interface that nothing listens on at this moment.
[[nodiscard]] Result<int> free_port();
/// CAMPAIGN-PORT-TAKEN when something listens on the loopback port.
[[nodiscard]] Status expect_port_free(int port);

/// GETs `url` until it answers 2xx. Refuses CAMPAIGN-SERVER-DIED, CAMPAIGN-SERVER-NOT-READY after
/// `timeout`, LOAD-URL, and what the guard refuses.
[[nodiscard]] Status wait_until_ready(ServerProcess& server, const std::string& url,
                                      std::chrono::seconds timeout, const Guard& guard);

}  // namespace assay::load
