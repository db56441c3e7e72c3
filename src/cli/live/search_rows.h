// SPDX-License-Identifier: Apache-2.0
/// \file
/// A SearchView as rows: the live view of `optimize`, `evolve`, `tune` and `resume`. A pure
/// function: the same view and size give the same rows.
#pragma once

#include <vector>

#include "cli/live/search_view.h"
#include "cli/terminal/rows.h"

namespace cuco::cli {

/// At most as many rows as leave room for what scrolls by above, and none wider than the terminal
/// less one column. Where there is little room, what matters least is left out; where there is
/// almost none, a single row remains.
[[nodiscard]] std::vector<Row> search_rows(const SearchView& view, system::TerminalSize size);

/// "#13  final  31/64  1 m 12 s, about 1 m 15 s left", as far as it is known; where the terminal is
/// narrow "#13 final 31/64 1 m 12 s +1 m 15 s".
[[nodiscard]] Row job_row(const RunningJob& job, bool narrow);

}  // namespace cuco::cli
