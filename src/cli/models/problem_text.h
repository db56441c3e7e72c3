// SPDX-License-Identifier: Apache-2.0
/// \file
/// What models are told of a workload and of the machine it is judged on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "workload/workload.h"

namespace cuco::cli {

/// The header that the program implements, parameters and their ranges, buffers, tolerances, and
/// the shapes that are timed.
[[nodiscard]] std::string contract_text(const workload::Workload& workload,
                                        std::string_view header);

/// Limits, rates, latencies and costs, and what virtual GPUs do not execute.
[[nodiscard]] std::string target_text(const fabric::Topology& topology,
                                      const hardware::GpuDescription& gpu,
                                      int ranks,
                                      bool predicted);

}  // namespace cuco::cli
