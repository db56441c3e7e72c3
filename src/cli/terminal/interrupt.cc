// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/interrupt.h"

#include "cli/terminal/exit_code.h"
#include "system/terminal/stop_signals.h"

namespace cuco::cli {

InterruptScope::InterruptScope(const char* answer) {
  system::catch_stop_signals(static_cast<int>(ExitCode::Interrupted), answer);
}

InterruptScope::~InterruptScope() {
  system::release_stop_signals();
}

bool InterruptScope::requested() {
  return system::stop_signalled();
}

}  // namespace cuco::cli
