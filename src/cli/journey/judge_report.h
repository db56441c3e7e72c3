// SPDX-License-Identifier: Apache-2.0
/// \file
/// A verdict as a person reads it in a terminal.
#pragma once

#include <string>
#include <string_view>

#include "candidate/outcome.h"
#include "cli/terminal/terminal.h"
#include "judge/program_judge.h"

namespace cuco::cli {

/// Correct with its times, where they go and how far the bound is; or what is wrong, and where.
[[nodiscard]] std::string verdict_text(const Terminal& terminal,
                                       const judge::ProgramJudge& judge,
                                       const candidate::Outcome& outcome);

}  // namespace cuco::cli
