#include "view/connections.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace assay::view {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kHeadMax = size_t{64} << 10;
constexpr seconds kHeadTime{10};
constexpr seconds kIdleTime{5};
constexpr seconds kAnswerTime{15};
constexpr size_t kAnswerBytesPerSecond = size_t{64} << 10;

}  // namespace

void Connections::add(TimedSocket& socket) {
  const std::lock_guard lock(mutex_);
  open_.insert(&socket);
  if (stopping_) socket.give_up();
}

void Connections::remove(TimedSocket& socket) {
  const std::lock_guard lock(mutex_);
  open_.erase(&socket);
}

void Connections::make_room() {
  const std::lock_guard lock(mutex_);
  size_t leaving = static_cast<size_t>(std::count_if(
      open_.begin(), open_.end(), [](const TimedSocket* socket) { return socket->given_up(); }));
  for (; leaving < starving_; ++leaving) {
    TimedSocket* slowest = nullptr;
    for (TimedSocket* socket : open_) {
      if (socket->given_up() || !socket->is_waiting()) continue;
      if (slowest == nullptr || socket->last_progress() < slowest->last_progress())
        slowest = socket;
    }
    // None is waiting for its client: the next one that does comes back here.
    if (slowest == nullptr) return;
    slowest->give_up();
  }
}

void Connections::close_all() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (TimedSocket* socket : open_) socket->give_up();
}

TimedSocket::TimedSocket(int socket, Connections& connections)
    : socket_(socket), connections_(connections) {
  connections_.add(*this);
}

TimedSocket::~TimedSocket() {
  connections_.remove(*this);
}

void TimedSocket::give_up() {
  given_up_ = true;
  ::shutdown(socket_, SHUT_RDWR);
}

bool TimedSocket::await_request() {
  if (given_up_) return false;
  if (at_ < filled_) return true;
  return wait(POLLIN, Clock::now() + kIdleTime);
}

void TimedSocket::begin_request() {
  read_deadline_ = Clock::now() + kHeadTime;
  read_bytes_ = 0;
  beginning_.clear();
  write_deadline_.reset();
  written_ = 0;
}

std::string TimedSocket::beginning() const {
  return std::string(trim(std::string_view(beginning_).substr(0, beginning_.find('\n'))));
}

void TimedSocket::drain() {
  if (given_up_) return;
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + milliseconds(300);
  size_t left = size_t{1} << 20;
  char waste[4096];
  while (left >= sizeof waste && wait(POLLIN, deadline)) {
    if (::recv(socket_, waste, sizeof waste, MSG_DONTWAIT) <= 0) return;
    left -= sizeof waste;
  }
}

bool TimedSocket::is_readable() const {
  return at_ < filled_ || wait(POLLIN, read_deadline_);
}

bool TimedSocket::is_writable() const {
  return wait(POLLOUT, write_deadline_.value_or(Clock::now() + kAnswerTime));
}

ssize_t TimedSocket::read(char* to, size_t size) {
  if (at_ == filled_) {
    if (read_bytes_ >= kHeadMax || !wait(POLLIN, read_deadline_)) return -1;
    const ssize_t got = ::recv(socket_, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (got <= 0) return got;
    at_ = 0;
    filled_ = static_cast<size_t>(got);
    last_progress_ = Clock::now();
  }
  const size_t taken = std::min(size, filled_ - at_);
  std::memcpy(to, buffer_ + at_, taken);
  if (beginning_.size() < kBeginningMax)
    beginning_.append(buffer_ + at_, std::min(taken, kBeginningMax - beginning_.size()));
  at_ += taken;
  read_bytes_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t TimedSocket::write(const char* from, size_t size) {
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
    last_progress_ = Clock::now();
  }
  return static_cast<ssize_t>(done);
}

bool TimedSocket::wait(int16_t events, Clock::time_point deadline) const {
  struct Waiting {
    explicit Waiting(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
    ~Waiting() { flag_ = false; }
    std::atomic<bool>& flag_;
  } const waiting(waiting_);
  if (connections_.any_starving()) connections_.make_room();
  while (!given_up_) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd item{socket_, events, 0};
    const int ready = ::poll(&item, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace assay::view
