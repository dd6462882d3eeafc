#include "support/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace assay::testing_support {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string stripped(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return std::string(text);
}

bool read_more(int connection, std::string& data) {
  char buffer[65536];
  const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  data.append(buffer, static_cast<size_t>(count));
  return true;
}

void write_all(int connection, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::send(connection, data.data(), data.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    data.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

std::optional<std::string> WireRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string WireRequest::path() const {
  return target.substr(0, target.find('?'));
}

std::string WireRequest::query() const {
  const size_t mark = target.find('?');
  return mark == std::string::npos ? "" : target.substr(mark + 1);
}

std::string url_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 || ::pipe(wake_) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

LoopbackServer::~LoopbackServer() {
  ::close(wake_[1]);
  thread_.join();
  for (const int connection : silent_) ::close(connection);
  ::close(wake_[0]);
  ::close(listener_);
}

std::string LoopbackServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<WireRequest> LoopbackServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

size_t LoopbackServer::count(std::string_view method, std::string_view part) const {
  const auto all = requests();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const WireRequest& r) {
    return r.method == method && r.target.find(part) != std::string::npos;
  }));
}

void LoopbackServer::serve() {
  for (;;) {
    pollfd entries[2] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0) continue;
    if (entries[1].revents != 0) return;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (answer(connection)) {
      silent_.push_back(connection);
    } else {
      ::close(connection);
    }
  }
}

// True when the connection is to stay open.
bool LoopbackServer::answer(int connection) {
  std::string data;
  size_t end = std::string::npos;
  while ((end = data.find("\r\n\r\n")) == std::string::npos) {
    if (data.size() > 1 << 20 || !read_more(connection, data)) return false;
  }
  WireRequest request;
  size_t at = data.find("\r\n");
  const std::string first = data.substr(0, at);
  const size_t space = first.find(' '), second = first.rfind(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, second - space - 1);
  for (at += 2; at < end;) {
    const size_t stop = data.find("\r\n", at);
    const std::string line = data.substr(at, stop - at);
    const size_t colon = line.find(':');
    if (colon != std::string::npos)
      request.headers.emplace_back(lower(line.substr(0, colon)), stripped(line.substr(colon + 1)));
    at = stop + 2;
  }
  const auto length = static_cast<size_t>(
      std::strtoull(request.header("content-length").value_or("0").c_str(), nullptr, 10));
  request.body = data.substr(end + 4);
  while (request.body.size() < length) {
    if (!read_more(connection, request.body)) return false;
  }
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const WireReply reply = handler_(request);
  if (reply.fault == WireReply::silent) return true;
  if (reply.fault == WireReply::lost) return false;
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " X\r\nconnection: close\r\n";
  bool sized = reply.status == 204;
  for (const auto& [name, value] : reply.headers) {
    text += name + ": " + value + "\r\n";
    sized = sized || name == "content-length";
  }
  if (!sized) text += "content-length: " + std::to_string(reply.body.size()) + "\r\n";
  text += "\r\n";
  write_all(connection, text);
  if (request.method != "HEAD") {
    const std::string_view body = reply.body;
    write_all(connection,
              reply.fault == WireReply::cut_short ? body.substr(0, body.size() / 2) : body);
  }
  ::shutdown(connection, SHUT_WR);
  return false;
}

}  // namespace assay::testing_support
