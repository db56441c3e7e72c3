// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of C++ that a split program and its oracle have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/programs/split/split_plan.h"

namespace cuco::cli {

/// A statement on lines of its own, as far in as the code around it.
[[nodiscard]] std::string line(std::string_view statement, int depth = 1);

[[nodiscard]] std::string replaced(std::string text, std::string_view old, std::string_view by);

/// In place of MPI, for a program that names it where it gives up.
[[nodiscard]] std::string shim(std::string_view text);

/// What stands beside main().
[[nodiscard]] std::string outside_of(const SplitPlan& plan,
                                     std::string_view text,
                                     const std::vector<SplitEdit>& edits);

/// Rank, ranks, communicator, sizes and what follows from them.
[[nodiscard]] std::string given_lines(const SplitPlan& plan,
                                      std::string_view rank,
                                      std::string_view ranks,
                                      std::string_view communicator,
                                      std::string_view params);

}  // namespace cuco::cli
