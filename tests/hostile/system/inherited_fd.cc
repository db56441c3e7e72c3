// SPDX-License-Identifier: Apache-2.0
// Tries to read through a descriptor that the judge forgot to close.
#include "attack.h"

int main() {
  char byte = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    if (::read(fd, &byte, 1) >= 0 || errno != EBADF) got_through("an inherited descriptor");
  }
  errno = EBADF;
  refused("inherited descriptors");
}
