// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory for a process, however it asks for it.
#pragma once

#include <cstdint>
#include <vector>

#include "shims/wire/messages_memory.h"
#include "vcluster/core/client_process.h"
#include "vcluster/core/work.h"

namespace cuco::vcluster {

class Cluster;

/// The CUDA error of the call, or the address.
struct Made {
  std::int32_t status = 0;
  std::uint64_t address = 0;
};
[[nodiscard]] Made allocate(Cluster& cluster, Process& process, const wire::Allocate& request);

/// Everything the process has in flight anywhere: memory may be used from other devices.
[[nodiscard]] std::vector<WorkPtr> unfinished_works(Process& process);

}  // namespace cuco::vcluster
