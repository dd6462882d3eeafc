#include "view/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <set>
#include <thread>

#include "base/text.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kHeadMax = size_t{64} << 10;
constexpr seconds kHeadTime{10};
constexpr seconds kIdleTime{5};
constexpr seconds kAnswerTime{15};
constexpr size_t kAnswerBytesPerSecond = size_t{64} << 10;
constexpr int kRequestsPerConnection = 100;
constexpr size_t kThreadsMax = 256;

// A socket whose every wait ends at a deadline.
class TimedStream : public httplib::Stream {
 public:
  explicit TimedStream(int socket) : socket_(socket) {}

  // True when a request begins within the idle time.
  bool await_request() {
    if (at_ < filled_) return true;
    return wait(POLLIN, Clock::now() + kIdleTime);
  }
  void begin_request() {
    read_deadline_ = Clock::now() + kHeadTime;
    read_bytes_ = 0;
    write_deadline_.reset();
    written_ = 0;
  }
  // Whatever the client still sends is read over for a moment: closing at once would reset the
  // connection, and the answer with it.
  void drain() {
    ::shutdown(socket_, SHUT_WR);
    const auto deadline = Clock::now() + milliseconds(300);
    size_t left = size_t{1} << 20;
    char waste[4096];
    while (left >= sizeof waste && wait(POLLIN, deadline)) {
      if (::recv(socket_, waste, sizeof waste, MSG_DONTWAIT) <= 0) return;
      left -= sizeof waste;
    }
  }

  [[nodiscard]] bool is_readable() const override {
    return at_ < filled_ || wait(POLLIN, read_deadline_);
  }
  [[nodiscard]] bool is_writable() const override {
    return wait(POLLOUT, write_deadline_.value_or(Clock::now() + kAnswerTime));
  }

  ssize_t read(char* to, size_t size) override {
    if (at_ == filled_) {
      if (read_bytes_ >= kHeadMax || !wait(POLLIN, read_deadline_)) return -1;
      const ssize_t got = ::recv(socket_, buffer_, sizeof buffer_, MSG_DONTWAIT);
      if (got <= 0) return got;
      at_ = 0;
      filled_ = static_cast<size_t>(got);
    }
    const size_t taken = std::min(size, filled_ - at_);
    std::memcpy(to, buffer_ + at_, taken);
    at_ += taken;
    read_bytes_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* from, size_t size) override {
    if (!write_deadline_) write_deadline_ = Clock::now() + kAnswerTime;
    size_t done = 0;
    while (done < size) {
      // Every 64 KiB that get through buy a second.
      const auto deadline = *write_deadline_ + seconds(written_ / kAnswerBytesPerSecond);
      if (!wait(POLLOUT, deadline)) return -1;
      const ssize_t sent = ::send(socket_, from + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (sent <= 0) return -1;
      done += static_cast<size_t>(sent);
      written_ += static_cast<size_t>(sent);
    }
    return static_cast<ssize_t>(done);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool wait(int16_t events, Clock::time_point deadline) const {
    while (true) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return false;
      pollfd item{socket_, events, 0};
      const int ready = ::poll(&item, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  int socket_;
  char buffer_[4096];
  size_t at_ = 0, filled_ = 0;
  Clock::time_point read_deadline_{};
  size_t read_bytes_ = 0;
  std::optional<Clock::time_point> write_deadline_{};
  size_t written_ = 0;
};

// A thread more for every connection that finds none idle.
class Threads : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < kThreadsMax)
      threads_.emplace_back([this] { work(); });
    wake_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    threads_.clear();  // joins
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

Request to_request(const httplib::Request& from) {
  Request request;
  request.method = from.method;
  request.path = from.path;
  request.query.assign(from.params.begin(), from.params.end());
  request.host = from.get_header_value("Host");
  request.if_none_match = from.get_header_value("If-None-Match");
  return request;
}

void fill(httplib::Response& response, const Answer& answer) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_header("Accept-Ranges", "none");
  if (answer.body == nullptr || answer.body->empty()) return;
  // From the shared text, not from a copy: an index is many megabytes.
  response.set_content_provider(
      answer.body->size(), answer.content_type,
      [body = answer.body](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(body->data() + offset, length);
      });
}

}  // namespace

class HttpServer::Impl : public httplib::Server {
 public:
  explicit Impl(Site& site) : site_(site) {
    httplib::Headers headers;
    for (const auto& [name, value] : common_headers()) headers.emplace(name, value);
    set_default_headers(std::move(headers));
    set_tcp_nodelay(true);
    set_keep_alive_max_count(kRequestsPerConnection);
    new_task_queue = [] { return new Threads; };
    // The library's own choice includes SO_REUSEPORT, with which two servers share a port
    // unnoticed.
    set_socket_options([](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // Everything is answered here: the library's own routing matches regular expressions.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      try {
        fill(response, site_.answer(to_request(request)));
      } catch (const std::exception&) {
        response.status = 500;
      }
      return HandlerResponse::Handled;
    });
  }

  // The library listens with a queue of five: a handful of connections at once would wait seconds
  // for their retries.
  void lengthen_queue() { ::listen(svr_sock_, 512); }

  void close_all() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }

  std::string host_;
  int port_ = 0;
  std::atomic<bool> stop_asked_{false};

 private:
  bool process_and_close_socket(socket_t socket) override {
    {
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
      if (stopping_) ::shutdown(socket, SHUT_RDWR);
    }
    TimedStream stream(socket);
    bool good = true;
    for (int left = kRequestsPerConnection; left > 0 && stream.await_request(); --left) {
      stream.begin_request();
      bool close = left == 1, understood = false;
      good = process_request(stream, close, close, [&](httplib::Request& request) {
        understood = true;
        // A body is never read: what follows on the connection is not a request.
        if (request.has_header("Content-Length") || request.has_header("Transfer-Encoding") ||
            request.has_header("Expect"))
          close = true;
        request.headers.erase("Expect");
        // No pieces of files, and no compressing anew for every request.
        request.ranges.clear();
        request.headers.erase("Accept-Encoding");
      });
      // After a request that was no HTTP nobody knows where the next one begins.
      if (!good || close || !understood) break;
    }
    stream.drain();
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::close(socket);
    return good;
  }

  Site& site_;
  std::mutex mutex_;
  std::set<int> open_;
  bool stopping_ = false;
};

HttpServer::HttpServer(Site& site) : impl_(std::make_unique<Impl>(site)) {}
HttpServer::~HttpServer() = default;

Status HttpServer::listen(const std::string& host, int port) {
  impl_->host_ = host;
  errno = 0;
  if (port == 0) {
    impl_->port_ = impl_->bind_to_any_port(host);
  } else {
    impl_->port_ = impl_->bind_to_port(host, port) ? port : -1;
  }
  if (impl_->port_ > 0) {
    impl_->lengthen_queue();
    return {};
  }
  const int reason = errno;
  return Refusal(kListen, cat("`", host, "` port ", port, ": ",
                              reason != 0 ? std::strerror(reason) : "no address of this machine"));
}

int HttpServer::port() const {
  return impl_->port_;
}

std::string HttpServer::url() const {
  const bool v6 = impl_->host_.find(':') != std::string::npos;
  return cat("http://", v6 ? "[" : "", impl_->host_, v6 ? "]" : "", ":", impl_->port_, "/");
}

void HttpServer::run() {
  if (impl_->stop_asked_) return;
  impl_->listen_after_bind();
}

void HttpServer::stop() {
  impl_->stop_asked_ = true;
  impl_->close_all();
  impl_->stop();
}

}  // namespace assay::view
