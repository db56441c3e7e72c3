// SPDX-License-Identifier: Apache-2.0
// Tries to stay behind: leaves its session by setsid and a double fork, closes everything, ignores
// polite signals, and sleeps. The first process then exits as if all were well.
#include <csignal>
#include <initializer_list>

#include "attack.h"

int main() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT})
      std::signal(signal, SIG_IGN);
    for (int fd = 0; fd < 64; ++fd)
      ::close(fd);
    ::sleep(600);
    ::_exit(0);
  }
  ::usleep(100'000);
  return 0;
}
