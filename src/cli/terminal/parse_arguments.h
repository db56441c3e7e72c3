// SPDX-License-Identifier: Apache-2.0
/// \file
/// From words to values. The only user of CLI11 is behind this header (it costs 6 s a file).
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/terminal/arguments.h"

namespace cuco::cli {

/// Stores the values of `words` into the targets of `arguments`. Errors are ready to be shown and
/// suggest the nearest option.
Result<void> parse(const Arguments& arguments, std::span<const std::string> words);

}  // namespace cuco::cli
