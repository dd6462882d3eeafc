#include "view/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>

#include "base/printable.h"
#include "base/text.h"
#include "view/connections.h"
#include "view/facts.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

constexpr int kRequestsPerConnection = 100;
constexpr size_t kThreadsMax = 256;

// What the library reads requests from and writes answers to.
class SocketStream : public httplib::Stream {
 public:
  explicit SocketStream(TimedSocket& socket) : socket_(socket) {}
  [[nodiscard]] bool is_readable() const override { return socket_.is_readable(); }
  [[nodiscard]] bool is_writable() const override { return socket_.is_writable(); }
  ssize_t read(char* to, size_t size) override { return socket_.read(to, size); }
  ssize_t write(const char* from, size_t size) override { return socket_.write(from, size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  [[nodiscard]] socket_t socket() const override { return socket_.socket(); }

 private:
  TimedSocket& socket_;
};

// A thread more for every connection that finds none idle, up to the limit.
class Threads : public httplib::TaskQueue {
 public:
  explicit Threads(Connections& connections) : connections_(connections) {}

  void enqueue(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      if (idle_ < tasks_.size() && threads_.size() < kThreadsMax)
        threads_.emplace_back([this] { work(); });
      count_starving();
      wake_.notify_one();
    }
    if (connections_.any_starving()) connections_.make_room();
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
      count_starving();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  // A thread that has just begun, or is woken, takes a task in a moment.
  void count_starving() {
    const size_t coming = threads_.size() < kThreadsMax ? tasks_.size() : idle_;
    connections_.set_starving(tasks_.size() > coming ? tasks_.size() - coming : 0);
  }

  Connections& connections_;
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

// What came was no request that can be answered, or answering it failed.
Answer answer_to_no_request(int status, const std::string& beginning) {
  const bool whole = beginning.size() < TimedSocket::kBeginningMax;
  const std::string came = cat("\"", printable_line(mended_utf8(beginning)), whole ? "\"" : "…\"");
  const std::string_view expected = "expected GET PATH HTTP/1.1 and headers NAME: VALUE";
  switch (status) {
    case 414:
      return refusal(414, Refusal(kHttpRequest, cat("it begins ", came,
                                                    " and its first line has "
                                                    "more than 8192 bytes; ",
                                                    expected)));
    case 400: return refusal(400, Refusal(kHttpRequest, cat("it begins ", came, "; ", expected)));
    default: return refusal(status, Refusal(kHttpFault, cat("the request begins ", came)));
  }
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
    new_task_queue = [this] { return new Threads(connections_); };
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
    // What the library answers by itself, before it asks: it would say nothing but a number.
    const Handler say_why = [this](const httplib::Request& request, httplib::Response& response) {
      if (response.has_header("Content-Type")) return;
      if (response.status == 416) {
        // It could not read the Range header. Ranges are not served, so there is nothing to read.
        auto& own = const_cast<httplib::Request&>(request);  // the library's is no constant
        own.ranges.clear();
        own.headers.erase("Accept-Encoding");
        fill(response, site_.answer(to_request(request)));
      } else {
        fill(response, answer_to_no_request(response.status, served_->beginning()));
      }
    };
    set_error_handler(say_why);
  }

  // The library listens with a queue of five: a handful of connections at once would wait seconds
  // for their retries.
  void lengthen_queue() { ::listen(svr_sock_, 512); }

  void close_all() { connections_.close_all(); }

  std::string host_;
  int port_ = 0;
  std::atomic<bool> stop_asked_{false};

 private:
  bool process_and_close_socket(socket_t socket) override {
    const bool good = serve(socket);
    ::close(socket);
    return good;
  }

  bool serve(socket_t socket) {
    TimedSocket timed(socket, connections_);
    SocketStream stream(timed);
    served_ = &timed;
    bool good = true;
    for (int left = kRequestsPerConnection; left > 0 && timed.await_request(); --left) {
      timed.begin_request();
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
    timed.drain();
    return good;
  }

  Site& site_;
  Connections connections_;
  static thread_local const TimedSocket* served_;  // by this thread
};

thread_local const TimedSocket* HttpServer::Impl::served_ = nullptr;

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
