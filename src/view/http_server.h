// The site on a socket. Reading and writing have deadlines, so a client that is slow, or means
// harm, costs one thread for a while and nobody else anything. When all threads are taken, the
// connections that have waited for their clients for longest are given up for new ones.
//
// Limits    request line and headers: 64 KiB within 10 s; idle between requests: 5 s; an answer:
//           15 s and 64 KiB/s; 100 requests a connection; 256 threads.
// Errors    VIEW-LISTEN.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "view/site.h"

namespace assay::view {

class HttpServer {
 public:
  explicit HttpServer(Site& site);
  ~HttpServer();

  /// Takes the address; port 0 takes a free one. Refuses VIEW-LISTEN.
  [[nodiscard]] Status listen(const std::string& host, int port);
  [[nodiscard]] int port() const;
  /// "http://127.0.0.1:8080/"
  [[nodiscard]] std::string url() const;

  /// Answers until stop(). Needs listen().
  void run();
  /// Ends run() at once, whatever clients do. From any thread, before or after run() began.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::view
