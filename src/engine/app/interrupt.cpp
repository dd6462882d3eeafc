#include "engine/app/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "cli/program.h"

namespace assay::engine::app {

namespace {

volatile std::sig_atomic_t g_requested = 0;
volatile std::sig_atomic_t g_streaming = 0;

void on_signal(int) {
  if (g_streaming == 0) _exit(cli::kInterrupted);
  g_requested = 1;
}

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  g_requested = 0;
  g_streaming = 0;
  install(on_signal);
}
Interrupt::~Interrupt() {
  install(SIG_DFL);
}
void Interrupt::streaming() {
  g_streaming = 1;
}
bool Interrupt::requested() const {
  return g_requested != 0;
}

}  // namespace assay::engine::app
