// SPDX-License-Identifier: Apache-2.0
// Never ends, and answers no signal that can be answered.
#include <csignal>

int main() {
  for (int signal = 1; signal < 32; ++signal)
    std::signal(signal, SIG_IGN);
  volatile bool forever = true;
  while (forever) {
  }
}
