// SPDX-License-Identifier: Apache-2.0
// Tries to fill the machine's disk through /tmp: many files, each below the limit of one.
#include <fcntl.h>

#include <string>
#include <vector>

#include "attack.h"

int main() {
  const std::vector<char> block(1U << 20U, 'x');
  for (int file = 0; file < 1024; ++file) {
    const int fd = ::open(("/tmp/fill" + std::to_string(file)).c_str(), O_CREAT | O_WRONLY, 0644);
    if (fd < 0) refused("fill /tmp");
    for (int i = 0; i < 8; ++i) {
      if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
        refused("fill /tmp");
      }
    }
    ::close(fd);
  }
  got_through("fill /tmp");
}
