#include "runner/read_guard.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "runner/wait.h"

namespace assay::runner {
namespace {

// A signal may come just before the system call that it is to interrupt: it is sent again.
constexpr Duration kResend = std::chrono::milliseconds(10);

void install_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: the read must return
  sigaction(SIGURG, &action, nullptr);
}

}  // namespace

ReadGuard::ReadGuard(std::function<bool()> engine_ended)
    : engine_ended_(std::move(engine_ended)), reader_(pthread_self()) {
  install_handler();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ReadGuard::~ReadGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

ReadGuard::Reason ReadGuard::end() {
  // Both sides write one variable and then read the other's: the orders must be the strict ones.
  deadline_.store(kNobodyReads, std::memory_order_seq_cst);
  while (acting_.load(std::memory_order_seq_cst)) std::this_thread::yield();
  return reason_.load(std::memory_order_relaxed);
}

ReadGuard::Reason ReadGuard::judge(Duration::rep deadline) const {
  if (!check_interrupt_signal()) return Reason::interrupted;
  if (monotonic_now().time_since_epoch().count() >= deadline) return Reason::deadline_passed;
  return engine_ended_() ? Reason::engine_ended : Reason::none;
}

void ReadGuard::run() {
  Duration nap = kTick;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (nap > Duration::zero()) changed_.wait_for(lock, nap);
    if (stopping_) return;
    nap = kTick;
    acting_.store(true, std::memory_order_seq_cst);
    const auto deadline = deadline_.load(std::memory_order_seq_cst);
    if (deadline != kNobodyReads) {
      const Reason reason = judge(deadline);
      if (reason == Reason::none) {
        nap = std::min(nap, Duration(deadline) - monotonic_now().time_since_epoch());
      } else {
        reason_.store(reason, std::memory_order_relaxed);
        pthread_kill(reader_, SIGURG);
        nap = kResend;
      }
    }
    acting_.store(false, std::memory_order_seq_cst);
  }
}

}  // namespace assay::runner
