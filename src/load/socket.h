// A TCP connection whose every wait and read has a deadline and asks the guard: a peer that never
// lets it wait is bound by both all the same.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "load/clock.h"
#include "load/endpoint.h"

namespace assay::load {

class Socket {
 public:
  Socket() = default;
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  /// Tries every address of the host in turn. Refuses LOAD-CONNECT, LOAD-TIMEOUT, the guard's.
  [[nodiscard]] static Result<Socket> connect(const Endpoint& endpoint, Stamp deadline,
                                              const Guard& guard);

  struct Read {
    size_t count = 0;  // 0: the peer closed
    Stamp at{};        // taken when the read returned
  };
  /// At least one byte, or the end. Refuses LOAD-CLOSED (reset), LOAD-TIMEOUT, the guard's.
  [[nodiscard]] Result<Read> read(std::span<char> buffer, Stamp deadline, const Guard& guard);
  /// All bytes. Refuses the same.
  [[nodiscard]] Status write(std::string_view bytes, Stamp deadline, const Guard& guard);

 private:
  explicit Socket(int fd) : fd_(fd) {}
  int fd_ = -1;
  Stamp asked_at_{};  // when a read asked the guard last
};

}  // namespace assay::load
