// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes that nobody knows before: drawn from the workload's ranges by the secret.
#pragma once

#include <vector>

#include "base/result.h"
#include "workload/secret.h"
#include "workload/workload.h"

namespace cuco::workload {

/// What a run tries besides the listed shapes; the same secret draws the same ones.
///   check   small, and not trivial: two values of a parameter come in turn
///   hidden  as small; one of them at the edge of a range, and for each parameter with a range two
///           that are long in it, so that loops over it go round, with each element type; the
///           same for lengths of buffers that no parameter with a range makes long alone, once
///           with the most experts that share them
///   near    a step or two beside each timed shape: whoever is right only where it is timed fails
/// Hidden and near ones do not have their parameters in their names: verdicts are read by
/// proposers. A workload without ranges has none.
[[nodiscard]] Result<std::vector<Shape>> draw_shapes(const Workload& workload,
                                                     const Secret& secret);

/// A shape that somebody proposes to check candidates on: InvalidInput if it is outside the ranges
/// or more work than the largest timed one.
[[nodiscard]] Result<Shape> proposed_shape(const Workload& workload,
                                           const std::vector<long long>& params);

}  // namespace cuco::workload
