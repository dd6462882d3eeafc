#include "support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace assay::support {

namespace {

constexpr int kWorkersAtStart = 4;  // at the start; later one always waits

Nanoseconds monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

void sleep_for(Nanoseconds pause) {
  if (pause <= Nanoseconds::zero()) return;
  const Nanoseconds until = monotonic_now() + pause;
  const timespec at{.tv_sec = static_cast<time_t>(until.count() / 1'000'000'000),
                    .tv_nsec = static_cast<long>(until.count() % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
  }
}

// A free port when `port` is 0; it is then set.
int listen_on(uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd, 1024) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();  // a test without its server means nothing
  }
  port = ntohs(address.sin_port);
  return fd;
}

bool send_all(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

std::string hex(size_t value) {
  char text[20];
  const int size = snprintf(text, sizeof text, "%zx", value);
  return std::string(text, static_cast<size_t>(size));
}

// The value of Content-Length in a head whose case is the client's.
size_t content_length(std::string head) {
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t at = head.find("\r\ncontent-length:");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 17, nullptr, 10);
}

bool receive_request(int fd, ReceivedRequest& request) {
  std::string bytes;
  char buffer[65536];
  size_t head_end = std::string::npos;
  for (;;) {
    if (head_end == std::string::npos) head_end = bytes.find("\r\n\r\n");
    if (head_end != std::string::npos) {
      request.head = bytes.substr(0, head_end + 2);
      if (bytes.size() >= head_end + 4 + content_length(request.head)) break;
    }
    const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    bytes.append(buffer, static_cast<size_t>(count));
  }
  request.received_at = monotonic_now();
  request.body = bytes.substr(head_end + 4);
  const size_t first = request.head.find(' ');
  const size_t second = request.head.find(' ', first + 1);
  request.method = request.head.substr(0, first);
  request.target = request.head.substr(first + 1, second - first - 1);
  return true;
}

}  // namespace

ScriptedServer::ScriptedServer(Script script, uint16_t port)
    : script_(std::move(script)), port_(port) {
  listener_ = listen_on(port_);
  for (int i = 0; i < kWorkersAtStart; ++i) add_worker();
}

ScriptedServer::~ScriptedServer() {
  stop();
}

void ScriptedServer::stop() {
  if (stopping_.exchange(true)) return;
  shutdown(listener_, SHUT_RDWR);
  std::vector<std::thread> workers;
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    workers.swap(workers_);
  }
  for (std::thread& worker : workers) worker.join();
  close(listener_);
}

std::string ScriptedServer::base_url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/v1";
}

std::vector<ReceivedRequest> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<std::vector<Nanoseconds>> ScriptedServer::sent_at() const {
  const std::lock_guard lock(mutex_);
  return sent_at_;
}

void ScriptedServer::add_worker() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  ++idle_;
  workers_.emplace_back([this] { work(); });
}

void ScriptedServer::work() {
  while (!stopping_) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (--idle_ == 0) add_worker();
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) shutdown(fd, SHUT_RDWR);
      open_.push_back(fd);
    }
    serve(fd);
    ++idle_;
  }
}

void ScriptedServer::serve(int fd) {
  ReceivedRequest request;
  if (receive_request(fd, request)) {
    {
      const std::lock_guard lock(mutex_);
      request.index = static_cast<int64_t>(requests_.size());
      requests_.push_back(request);
      sent_at_.emplace_back();
    }
    send_reply(fd, request.index, script_(request));
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  close(fd);
}

void ScriptedServer::send_reply(int fd, int64_t index, const Reply& reply) {
  using Framing = Reply::Framing;
  size_t body_size = 0;
  for (const Piece& piece : reply.pieces) body_size += piece.bytes.size();
  if (reply.framing != Framing::raw) {
    std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + reply.reason + "\r\n";
    for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
    if (reply.framing == Framing::chunked) head += "Transfer-Encoding: chunked\r\n";
    if (reply.framing == Framing::content_length) {
      head += "Content-Length: " + std::to_string(body_size) + "\r\n";
    }
    if (!send_all(fd, head + "Connection: close\r\n\r\n")) return;
  }
  for (const Piece& piece : reply.pieces) {
    sleep_for(piece.pause);
    const std::string bytes = reply.framing == Framing::chunked && !piece.bytes.empty()
                                  ? hex(piece.bytes.size()) + "\r\n" + piece.bytes + "\r\n"
                                  : piece.bytes;
    const Nanoseconds at = monotonic_now();
    {
      const std::lock_guard lock(mutex_);
      sent_at_[static_cast<size_t>(index)].push_back(at);
    }
    if (!send_all(fd, bytes)) return;
  }
  switch (reply.end) {
    case Reply::End::whole:
      if (reply.framing == Framing::chunked) send_all(fd, "0\r\n\r\n");
      break;
    case Reply::End::close: break;
    case Reply::End::reset: {
      const linger none{.l_onoff = 1, .l_linger = 0};
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
      break;
    }
    case Reply::End::hang: {
      char byte;
      // Ends when the client closes, or stop() shuts the socket down.
      while (recv(fd, &byte, 1, 0) > 0) {
      }
      break;
    }
  }
}

uint16_t unused_port() {
  uint16_t port = 0;
  close(listen_on(port));
  return port;
}

}  // namespace assay::support
