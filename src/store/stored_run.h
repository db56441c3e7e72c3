// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run as it lies on disk, for those who show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidate/run_state.h"
#include "candidate/run_summary.h"
#include "store/run_folder.h"

namespace cuco::store {

struct StoredRun {
  RunFolder folder;
  candidate::RunState state;
};

/// Read beside whoever works on the run.
[[nodiscard]] Result<std::vector<candidate::Event>> load_events(const RunFolder& folder);
[[nodiscard]] Result<StoredRun> load_run(RunFolder folder);

/// What lists show, without reading the events.
[[nodiscard]] Result<candidate::RunSummary> load_summary(const RunFolder& folder);

/// "running", "finished: no more ideas", "stopped".
[[nodiscard]] std::string state_text(const StoredRun& run);
[[nodiscard]] std::string state_text(const RunFolder& folder,
                                     const std::optional<std::string>& finished);

/// "2026-11-15 04:20", in local time.
[[nodiscard]] std::string date_text(std::int64_t milliseconds);

}  // namespace cuco::store
