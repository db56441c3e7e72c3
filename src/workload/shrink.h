// SPDX-License-Identifier: Apache-2.0
/// \file
/// A full shape as a small one on a machine that is as much smaller: what [scale] in workload.toml
/// allows.
#pragma once

#include "base/result.h"
#include "workload/workload.h"

namespace cuco::workload {

/// About 1/k of the work of a full shape, by the parameters that may shrink and in their steps:
/// where arithmetic, memory traffic and messages shrink most alike. Its divisor says by how much
/// each of them did, its name by how much there is less to compute: "8192^3 bf16 / 16". An error
/// says how far it can shrink.
[[nodiscard]] Result<Shape> shrink(const Workload& workload, const Shape& full, double k);

/// What one iteration on all ranks costs to emulate, about, in seconds of one core. It follows from
/// the workload's formulas and nominal rates, not from a clock: every machine says the same.
[[nodiscard]] Result<double> emulation_seconds(const Workload& workload, const Shape& shape);

/// The least power of two by which a full shape must shrink for one iteration on all ranks to be
/// emulated in about so many seconds of one core, or the largest that [scale] allows.
[[nodiscard]] Result<double> factor_for(const Workload& workload,
                                        const Shape& full,
                                        double seconds);

}  // namespace cuco::workload
