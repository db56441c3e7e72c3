// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fast path: from a host-driven program to a first correct device-initiated one, in steps that
/// each have to pass before the next is tried.
///
///     infrastructure   windows and device communicator are there, the host still drives
///     replace          no host collective is left; the conservative corner of the design space
///     annotate         the parts that the slow path may change are marked
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/run.h"

namespace cuco::fastpath {

struct FastPath {
  candidate::Proposer* infrastructure = nullptr;  ///< Null: the replacement brings its own.
  candidate::Proposer* replacement = nullptr;
  /// The host collectives that a source still calls.
  std::function<Result<std::vector<std::string>>(const program::Source&)> host_collectives;
  int attempts = 3;  ///< Per step; after the first each repairs the one before.
};

/// The candidate that passed all steps; nothing when a step failed, which its record in the run
/// explains.
[[nodiscard]] Result<std::optional<candidate::Number>> walk(candidate::Run& run,
                                                            const FastPath& path);

}  // namespace cuco::fastpath
