// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run as text, one event a line: to be checked in, sent to somebody, and read back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/store.h"
#include "store/run_folder.h"

namespace cuco::store {

/// {"sequence", "time_ms", "kind", "body"}, with sources, as the store keeps them.
[[nodiscard]] std::string to_recording(std::span<const candidate::Event> events);

/// Names the line that cannot be read.
[[nodiscard]] Result<std::vector<candidate::Event>> parse_recording(std::string_view text);

/// Makes a run of it, at its own times; whatever the folder held is replaced.
[[nodiscard]] Result<void> write_run(std::span<const candidate::Event> events,
                                     const RunFolder& folder);

}  // namespace cuco::store
