// SPDX-License-Identifier: Apache-2.0
#include "system/terminal/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include <string.h>

#include "system/terminal/last_words.h"

namespace cuco::system {
namespace {

// Mutable globals: a signal handler can reach nothing else.
volatile sig_atomic_t signals_seen = 0;
volatile sig_atomic_t exit_code_of_second = 0;
const char* volatile answer_to_first = nullptr;

void on_signal(int) {
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) {
    say_last_words();
    _exit(exit_code_of_second);
  }
  if (answer_to_first == nullptr) return;
  const int error = errno;
  (void)!::write(STDERR_FILENO, answer_to_first, ::strlen(answer_to_first));
  errno = error;
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

void catch_stop_signals(int exit_code, const char* answer) {
  signals_seen = 0;
  answer_to_first = answer;
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
