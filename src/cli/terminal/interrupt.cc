// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "cli/terminal/exit_code.h"

namespace cuco::cli {
namespace {

// The one mutable global of the command line: a signal handler can reach nothing else.
volatile sig_atomic_t interrupt_count = 0;

void on_signal(int) {
  interrupt_count = interrupt_count + 1;
  if (interrupt_count > 1) _exit(static_cast<int>(ExitCode::Interrupted));
}

void install(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: blocking calls return, so that the command gets to look at the flag.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupt_count = 0;
  install(on_signal);
}

InterruptScope::~InterruptScope() {
  install(SIG_DFL);
}

bool InterruptScope::requested() {
  return interrupt_count > 0;
}

}  // namespace cuco::cli
