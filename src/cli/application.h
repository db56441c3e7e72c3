// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program from its words to its exit code, apart from the process: tests call it too.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "cli/terminal/exit_code.h"

namespace cuco::cli {

/// `words` without the program's name.
ExitCode run_application(std::span<const std::string> words, std::FILE* out, std::FILE* error);

}  // namespace cuco::cli
