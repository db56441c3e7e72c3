// SPDX-License-Identifier: Apache-2.0
/// \file
/// The speed-of-light bound of a workload's shape on a GPU and its links.
#pragma once

#include "base/result.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "measure/speed_of_light.h"
#include "workload/workload.h"

namespace cuco::workload {

/// What the hardware could do at the very best, whoever programs it and however: paper rates where
/// those are higher than what was measured. Otherwise good work would be quarantined as too fast.
[[nodiscard]] measure::Peak peak_of(const hardware::GpuDescription& gpu,
                                    const fabric::Topology& topology,
                                    int ranks,
                                    bool is_bf16);

[[nodiscard]] Result<measure::Bound> bound_of(const Workload& workload,
                                              const Shape& shape,
                                              const hardware::GpuDescription& gpu,
                                              const fabric::Topology& topology);

}  // namespace cuco::workload
