// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs as the commands that show them want them.
#pragma once

#include <string>
#include <string_view>

#include "candidate/run_state.h"
#include "cli/config.h"
#include "cli/terminal.h"
#include "store/run_folder.h"

namespace cuco::cli {

struct StoredRun {
  store::RunFolder folder;
  candidate::RunState state;
};

/// Reads a run beside whoever works on it. `name` as in store::find_run.
Result<StoredRun> load_run(const Config& config, std::string_view name);
Result<StoredRun> load_run(store::RunFolder folder);

/// An entry by number; NotFound names the range.
Result<const candidate::Entry*> find_entry(const StoredRun& run, int number);

/// "318 us predicted": a time is never shown without that word if it is one.
[[nodiscard]] std::string time_text(const candidate::Scored& scored);

/// "1.57x", or nothing without a baseline.
[[nodiscard]] std::string speedup_text(const candidate::Scored& scored);

/// "running", "finished: space exhausted", "stopped".
[[nodiscard]] std::string state_text(const StoredRun& run);

/// "2026-11-15 04:20", in local time.
[[nodiscard]] std::string date_text(std::int64_t milliseconds);

}  // namespace cuco::cli
