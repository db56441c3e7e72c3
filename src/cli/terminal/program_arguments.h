// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the arguments of a program that is run begin, if the user has left out the "--".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "cli/terminal/arguments.h"

namespace cuco::cli {

/// The first of `words` (what follows the command) that belongs to the program: behind its name,
/// the first word that is neither one of our options nor another of its sources. Nothing if there
/// is none, if there is a "--", or if the command takes no such arguments.
[[nodiscard]] std::optional<std::size_t> program_arguments_begin(
    const Arguments& arguments, std::span<const std::string> words);

/// One of our options that `word` may be a misspelling of; nothing if it is like none.
[[nodiscard]] std::optional<std::string> misspelt_option(const Arguments& arguments,
                                                         const std::string& word);

}  // namespace cuco::cli
