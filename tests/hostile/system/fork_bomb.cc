// SPDX-License-Identifier: Apache-2.0
// Tries to fill the machine with processes.
#include <unistd.h>

int main() {
  while (true)
    static_cast<void>(::fork());
}
