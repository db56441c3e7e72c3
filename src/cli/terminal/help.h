// SPDX-License-Identifier: Apache-2.0
/// \file
/// Help texts, made from the command table. Each fits a screen.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/command.h"

namespace cuco::cli {

/// "cuco run [options] PROGRAM… [ARGS]".
[[nodiscard]] std::string usage_line(const CommandEntry& entry, const Arguments& arguments);
[[nodiscard]] std::string general_help(std::span<const CommandEntry> commands,
                                       const Terminal& terminal);
[[nodiscard]] std::string command_help(const CommandEntry& entry,
                                       const Arguments& arguments,
                                       const Terminal& terminal);

}  // namespace cuco::cli
