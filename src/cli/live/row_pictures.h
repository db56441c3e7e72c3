// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pictures of one row each: how the search went, how far the best is, how much is done.
#pragma once

#include <span>

#include "cli/terminal/rows.h"

namespace cuco::cli {

/// A bar for each value, or for the largest of several where there is not that much room: the
/// speed-up of each candidate, 0 where it was refused ("×"). Bars below 1 are dim, the highest
/// stands out.
[[nodiscard]] Row sparkline(std::span<const double> speedups, int columns);

/// How much of the way from `from` down to `to` is done: "━━━━━╸────".
[[nodiscard]] Row way(double from, double at, double to, int columns);

/// "█████▌    ", in eighths of a column.
[[nodiscard]] Row bar(double share, int columns);

}  // namespace cuco::cli
