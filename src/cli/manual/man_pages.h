// SPDX-License-Identifier: Apache-2.0
/// \file
/// The manual of an installation: a page for the program and one for each command, made from what
/// the help texts are made from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "program/source.h"

namespace cuco::cli {

/// "cuco.1", "cuco-optimize.1", ...: names and texts, for man(7).
[[nodiscard]] std::vector<program::File> man_pages(std::span<const CommandEntry> commands,
                                                   std::string_view version);

}  // namespace cuco::cli
