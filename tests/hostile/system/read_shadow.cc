// SPDX-License-Identifier: Apache-2.0
// Tries to read a secret file of the machine.
#include <fcntl.h>

#include "attack.h"

int main() {
  for (const char* path : {"/etc/shadow", "/proc/1/root/etc/shadow", "/../../etc/shadow"}) {
    const int fd = ::open(path, O_RDONLY);
    char byte = 0;
    if (fd >= 0 && ::read(fd, &byte, 1) >= 0) got_through(path);
  }
  refused("read /etc/shadow");
}
