// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kind of stream a person's terminal is.
#pragma once

#include <cstdio>
#include <optional>

namespace cuco::system {

[[nodiscard]] bool is_terminal(std::FILE* stream);

struct TerminalSize {
  int columns = 80;
  int rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

/// Size of the terminal behind the stream, now; nothing where there is none or it does not say.
[[nodiscard]] std::optional<TerminalSize> terminal_size(std::FILE* stream);

}  // namespace cuco::system
