#include "load/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

using std::chrono::milliseconds;
constexpr Stamp kPiece = milliseconds(100);

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// What a resolving thread leaves behind; it may outlive the wait for it.
struct Lookup {
  std::mutex mutex{};
  std::condition_variable done{};
  bool finished = false;
  int error = 0;
  std::vector<Address> addresses{};
};

int resolve(const std::string& host, uint16_t port, int flags, std::vector<Address>& out) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), cat(port).c_str(), &hints, &list);
  if (error != 0) return error;
  for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
    Address address;
    std::memcpy(&address.storage, item->ai_addr, item->ai_addrlen);
    address.size = item->ai_addrlen;
    out.push_back(address);
  }
  freeaddrinfo(list);
  return 0;
}

// getaddrinfo knows no deadline, so names are looked up on a thread that may be left behind.
Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, Stamp deadline,
                                          const Guard& guard) {
  std::vector<Address> addresses;
  if (resolve(endpoint.host, endpoint.port, AI_NUMERICHOST, addresses) == 0) return addresses;
  auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, host = endpoint.host, port = endpoint.port] {
    std::vector<Address> found;
    const int error = resolve(host, port, 0, found);
    const std::lock_guard lock(lookup->mutex);
    lookup->error = error;
    lookup->addresses = std::move(found);
    lookup->finished = true;
    lookup->done.notify_one();
  }).detach();
  std::unique_lock lock(lookup->mutex);
  while (!lookup->finished) {
    if (guard) TRY_DO(guard());
    const Stamp left = deadline - now();
    if (left <= Stamp::zero()) {
      return Refusal(kTimeout, cat("the name `", endpoint.host, "` was not resolved in time"));
    }
    lookup->done.wait_for(lock, std::min(left, kPiece));
  }
  if (lookup->error != 0 || lookup->addresses.empty()) {
    return Refusal(kConnect, cat("`", endpoint.host, "`: ", gai_strerror(lookup->error)));
  }
  return std::move(lookup->addresses);
}

// Waits for `events` on the socket.
Status wait(int fd, short events, Stamp deadline, const Guard& guard, std::string_view doing) {
  for (;;) {
    if (guard) TRY_DO(guard());
    const Stamp left = deadline - now();
    if (left <= Stamp::zero()) return Refusal(kTimeout, cat("time ran out while ", doing));
    // Rounded up: a rest below a millisecond must not turn into a busy loop.
    const auto wait_ms = std::chrono::ceil<milliseconds>(std::min(left, kPiece)).count();
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    if (poll(&entry, 1, static_cast<int>(wait_ms)) > 0) return {};
  }
}

std::string where(const Endpoint& endpoint) {
  return cat(endpoint.host, ":", endpoint.port);
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Result<Socket> Socket::connect(const Endpoint& endpoint, Stamp deadline, const Guard& guard) {
  TRY(addresses, addresses_of(endpoint, deadline, guard));
  int last_error = 0;
  for (const Address& address : addresses) {
    Socket socket(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.fd_ < 0) {
      last_error = errno;
      continue;
    }
    const int on = 1;
    setsockopt(socket.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket.fd_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) !=
        0) {
      if (errno != EINPROGRESS) {
        last_error = errno;
        continue;
      }
      TRY_DO(wait(socket.fd_, POLLOUT, deadline, guard, cat("connecting to ", where(endpoint))));
      socklen_t size = sizeof last_error;
      getsockopt(socket.fd_, SOL_SOCKET, SO_ERROR, &last_error, &size);
      if (last_error != 0) continue;
    }
    return socket;
  }
  return Refusal(kConnect, cat(where(endpoint), ": ", std::strerror(last_error)));
}

Result<Socket::Read> Socket::read(std::span<char> buffer, Stamp deadline, const Guard& guard) {
  for (;;) {
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
    const Stamp at = now();
    if (count >= 0) {
      // A peer that keeps the socket full never lets wait() look at these.
      if (guard && at - asked_at_ >= kPiece) {
        asked_at_ = at;
        TRY_DO(guard());
      }
      if (at >= deadline) return Refusal(kTimeout, "time ran out while the answer came");
      return Read{static_cast<size_t>(count), at};
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TRY_DO(wait(fd_, POLLIN, deadline, guard, "waiting for the answer"));
    } else if (errno != EINTR) {
      return Refusal(kClosed, cat("the connection broke: ", std::strerror(errno)));
    }
  }
}

Status Socket::write(std::string_view bytes, Stamp deadline, const Guard& guard) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TRY_DO(wait(fd_, POLLOUT, deadline, guard, "sending the request"));
    } else if (errno != EINTR) {
      return Refusal(kClosed, cat("the connection broke: ", std::strerror(errno)));
    }
  }
  return {};
}

}  // namespace assay::load
