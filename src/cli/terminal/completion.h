// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shell completion scripts, made from the command table.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/command.h"

namespace cuco::cli {

[[nodiscard]] std::string bash_completion(std::span<const CommandEntry> commands);
[[nodiscard]] std::string zsh_completion(std::span<const CommandEntry> commands);
[[nodiscard]] std::string fish_completion(std::span<const CommandEntry> commands);

}  // namespace cuco::cli
