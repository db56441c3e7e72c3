// SPDX-License-Identifier: Apache-2.0
// Tries to use all of the machine's memory by way of /dev/shm, where no process owns it.
#include <fcntl.h>

#include <vector>

#include "attack.h"

int main() {
  const int fd = ::open("/dev/shm/hog", O_CREAT | O_WRONLY, 0600);
  if (fd < 0) refused("open");
  const std::vector<char> block(16U << 20U, 1);
  for (int i = 0; i < 4096; ++i) {
    if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
      refused("write to /dev/shm");
    }
  }
  got_through("64 GiB of /dev/shm");
}
