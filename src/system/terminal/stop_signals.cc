// SPDX-License-Identifier: Apache-2.0
#include "system/terminal/stop_signals.h"

#include <signal.h>
#include <unistd.h>

namespace cuco::system {
namespace {

// Mutable globals: a signal handler can reach nothing else.
volatile sig_atomic_t signals_seen = 0;
volatile sig_atomic_t exit_code_of_second = 0;

void on_signal(int) {
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) _exit(exit_code_of_second);
}

void install(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: blocking calls return, so that the caller gets to read the flag.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void catch_stop_signals(int exit_code) {
  signals_seen = 0;
  exit_code_of_second = exit_code;
  install(on_signal);
}

void release_stop_signals() {
  install(SIG_DFL);
}

bool stop_signalled() {
  return signals_seen > 0;
}

}  // namespace cuco::system
