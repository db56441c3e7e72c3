// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an iteration of a check is disturbed by: a rank that starts late, a GPU that is slow,
/// deliveries that come late. Whoever does not wait for its peers is found out by one of them.
#pragma once

#include <optional>
#include <string>

#include "candidate/outcome.h"
#include "targets/target.h"

namespace cuco::judge {

struct Disturbance {
  targets::Handicap handicap;
  std::string name;       ///< For reports; empty: none.
  bool is_probe = false;  ///< Every delivery is late; see judge_probe.
};

/// A late start shows who does not wait for a peer to begin; a slow GPU, who does not wait for it
/// to end. `choice`: a secret that says whose turn it is.
[[nodiscard]] Disturbance hold_back(int iteration, int ranks, std::uint64_t choice);

[[nodiscard]] Disturbance delay_deliveries();

/// Where every delivery was late and nobody got slower, nobody waited.
[[nodiscard]] std::optional<candidate::Finding> judge_probe(std::uint64_t deliveries,
                                                            double plain_seconds,
                                                            double seconds);

}  // namespace cuco::judge
