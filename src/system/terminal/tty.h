// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kind of stream a person's terminal is.
#pragma once

#include <cstdio>
#include <optional>

namespace cuco::system {

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// Columns of the terminal behind the stream; nothing where there is none.
[[nodiscard]] std::optional<int> terminal_columns(std::FILE* stream);

}  // namespace cuco::system
