// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each GPU of a run did, told once for all that did alike: kernels, collectives, copies,
/// puts, and what the links carried between them.
#pragma once

#include <string>

#include "base/json.h"

namespace cuco::run {

/// "GPU 0", "GPUs 0-2, 5": the devices of a set, in order.
[[nodiscard]] std::string name_gpus(const std::vector<int>& devices);

/// "69.4 us", or "60.2 – 69.4 us" where times differ by more than a percent.
[[nodiscard]] std::string time_range(std::uint64_t least_ps, std::uint64_t most_ps);

/// On which GPUs a kernel ran and how long on each: "60.0 us predicted", with several GPUs "60.0 us
/// predicted on each of GPUs 0-3". `report` is one of vcluster/watch/run_report.h.
[[nodiscard]] std::string kernel_time_text(const Json& report, const std::string& kernel);

/// A paragraph for every group of GPUs that did alike, and one for the links.
[[nodiscard]] std::string gpus_text(const Json& report);

}  // namespace cuco::run
