// SPDX-License-Identifier: Apache-2.0
#include "system/terminal/last_words.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include <string.h>

namespace cuco::system {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                                 SIGHUP,  SIGQUIT, SIGTERM, SIGINT, SIGTSTP};

// Mutable globals: a signal handler can reach nothing else.
const char* volatile last_words = nullptr;
volatile pid_t owner = 0;
volatile sig_atomic_t continued = 0;
std::array<struct sigaction, kSignals.size()> before{};
struct sigaction before_continue{};

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  return action;
}

/// Speaks, then lets the signal do what it does by default.
void on_signal(int signal) {
  const int error = errno;
  say_last_words();
  const struct sigaction normal = action_of(SIG_DFL);
  sigaction(signal, &normal, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  // Only a stopped process gets here, once it goes on.
  const struct sigaction again = action_of(on_signal);
  sigaction(signal, &again, nullptr);
  errno = error;
}

void on_continue(int) {
  continued = 1;
}

}  // namespace

void leave_last_words(const char* text) {
  last_words = text;
  owner = getpid();
  continued = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    const struct sigaction action = action_of(on_signal);
    if (before[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &action, nullptr);
  }
  const struct sigaction action = action_of(on_continue);
  sigaction(SIGCONT, &action, &before_continue);
}

void withdraw_last_words() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now{};
    sigaction(kSignals[i], nullptr, &now);
    if (now.sa_handler == on_signal) sigaction(kSignals[i], &before[i], nullptr);
  }
  sigaction(SIGCONT, &before_continue, nullptr);
  last_words = nullptr;
}

void say_last_words() {
  // A child that has not become another program yet has nothing to say.
  if (last_words == nullptr || getpid() != owner) return;
  (void)!::write(STDERR_FILENO, last_words, ::strlen(last_words));
}

bool was_continued() {
  const bool was = continued != 0;
  continued = 0;
  return was;
}

}  // namespace cuco::system
