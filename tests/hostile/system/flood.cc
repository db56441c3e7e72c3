// SPDX-License-Identifier: Apache-2.0
// Tries to fill the judge's memory or disk with output.
#include <unistd.h>

#include <vector>

int main() {
  const std::vector<char> block(1U << 16U, 'x');
  while (::write(1, block.data(), block.size()) > 0) {
  }
}
