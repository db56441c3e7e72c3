// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of all sub-commands.
#pragma once

#include <span>
#include <string_view>

#include "cli/terminal/command.h"

namespace cuco::cli {

/// In the order of `cuco --help`.
[[nodiscard]] std::span<const CommandEntry> all_commands();

/// Null if there is none of that name.
[[nodiscard]] const CommandEntry* find_command(std::string_view name);

}  // namespace cuco::cli
