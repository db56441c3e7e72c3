// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs as the commands that show them want them.
#pragma once

#include <string>
#include <string_view>

#include "cli/config/config.h"
#include "cli/terminal/terminal.h"
#include "store/stored_run.h"

namespace cuco::cli {

using store::date_text;
using store::load_run;
using store::state_text;
using store::StoredRun;

/// `name` as in store::find_run.
Result<StoredRun> load_run(const Config& config, std::string_view name);

/// An entry by number; NotFound names the range.
Result<const candidate::Entry*> find_entry(const StoredRun& run, int number);

/// "318 us predicted": a time is never shown without that word if it is one.
[[nodiscard]] std::string time_text(const candidate::Scored& scored);

/// "1.57x", or nothing without a baseline.
[[nodiscard]] std::string speedup_text(const candidate::Scored& scored);

}  // namespace cuco::cli
