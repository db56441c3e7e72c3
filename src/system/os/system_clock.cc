// SPDX-License-Identifier: Apache-2.0
#include "system/os/system_clock.h"

#include <thread>

namespace cuco::system {

Nanoseconds SystemClock::now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

Nanoseconds SystemClock::wall() const {
  return std::chrono::system_clock::now().time_since_epoch();
}

void SystemClock::sleep(Nanoseconds duration) {
  std::this_thread::sleep_for(duration);
}

}  // namespace cuco::system
