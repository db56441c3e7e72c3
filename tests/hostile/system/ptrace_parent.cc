// SPDX-License-Identifier: Apache-2.0
// Tries to take over the process that judges it.
#include <sys/ptrace.h>

#include "attack.h"

int main() {
  if (::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0) got_through("ptrace of parent");
  refused("ptrace");
}
