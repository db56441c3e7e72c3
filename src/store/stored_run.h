// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run as it lies on disk, for those who show it.
#pragma once

#include <string>
#include <vector>

#include "candidate/run_state.h"
#include "store/run_folder.h"

namespace cuco::store {

struct StoredRun {
  RunFolder folder;
  candidate::RunState state;
};

/// Read beside whoever works on the run.
[[nodiscard]] Result<std::vector<candidate::Event>> load_events(const RunFolder& folder);
[[nodiscard]] Result<StoredRun> load_run(RunFolder folder);

/// "running", "finished: space exhausted", "stopped".
[[nodiscard]] std::string state_text(const StoredRun& run);

/// "2026-11-15 04:20", in local time.
[[nodiscard]] std::string date_text(std::int64_t milliseconds);

}  // namespace cuco::store
