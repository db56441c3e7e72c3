// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be done with a run's file besides running: see whether it is whole, and make it small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/run_folder.h"

namespace cuco::store {

struct Verified {
  std::int64_t events = 0;
  std::vector<std::string> problems;  ///< Empty: it is whole.
};

/// Reads everything: SQLite's own pages, every event and its sources, the sequence without gaps,
/// candidates and decisions in order, and the summary tables against what the events add up to.
[[nodiscard]] Result<Verified> verify(const RunFolder& folder);

struct Vacuumed {
  std::uint64_t before = 0, after = 0;  ///< Bytes, write-ahead log included.
};

/// Gives back what is not used any more. Unavailable while another process works on the run.
[[nodiscard]] Result<Vacuumed> vacuum(const RunFolder& folder);

}  // namespace cuco::store
