// SPDX-License-Identifier: Apache-2.0
#include "system/terminal/tty.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace cuco::system {

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

std::optional<TerminalSize> terminal_size(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  TerminalSize found{.columns = size.ws_col};
  if (size.ws_row > 0) found.rows = size.ws_row;
  return found;
}

}  // namespace cuco::system
