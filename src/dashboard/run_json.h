// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of a run as the pages want them. The other side is dashboard/src/api.ts.
#pragma once

#include <span>

#include "base/json.h"
#include "candidate/run_summary.h"
#include "store/run_reader.h"

namespace cuco::dashboard {

[[nodiscard]] Result<Json> head_json(const store::RunFolder& folder,
                                     const store::RunReader& reader);
/// The head, what was asked, steps, plans and notes.
[[nodiscard]] Result<Json> detail_json(const store::RunFolder& folder,
                                       const store::RunReader& reader);
/// Rows without names of columns; texts that repeat are sent once.
[[nodiscard]] Json rows_json(std::span<const candidate::CandidateSummary> list);
/// One candidate in full. NotFound names the range.
[[nodiscard]] Result<Json> candidate_json(const store::RunFolder& folder,
                                          const store::RunReader& reader,
                                          candidate::Number number);
/// Sums by model and role, and by candidate from the `first` one of those on that have any, a page
/// of them.
[[nodiscard]] Result<Json> cost_json(const store::RunReader& reader, std::size_t first);

/// How much communication each profiled candidate exposes, in the bins of the search's own archive.
[[nodiscard]] Result<Json> archive_json(const store::RunReader& reader);

}  // namespace cuco::dashboard
