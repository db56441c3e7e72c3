// SPDX-License-Identifier: Apache-2.0
// Tries to use all of the machine's memory.
#include <cstring>
#include <new>

#include "attack.h"

int main() {
  for (int block = 0; block < 4096; ++block) {
    char* memory = new (std::nothrow) char[16U << 20U];
    if (memory == nullptr) refused("new");
    std::memset(memory, 1, 16U << 20U);
  }
  got_through("64 GiB of memory");
}
