// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a rank wants to be a window; what it wants of a device communicator, and gets.
#pragma once

#include <cstdint>
#include <vector>

#include "loopback/gpu/driver_calls.h"
#include "nccl_core/abi_2_28.h"
#include "nccl_core/resource_layout.h"

namespace cuco::loopback {

struct WindowRequest {
  CUdeviceptr address = 0;
  std::uint64_t bytes = 0;
};

/// ncclDevCommRequirements of one rank, without pointers.
struct DevCommRequest {
  int lsa_barriers = 0;
  int rail_gin_barriers = 0;
  std::uint32_t gin_signals = 0;
  std::uint32_t gin_counters = 0;
  bool wants_multimem = false;
  bool gin_force = false;
  std::vector<nccl_core::ResourceNeed> needs;
};

/// What one rank gets.
struct DevCommAnswer {
  nccl_core::abi_2_28::DevComm comm{};
  std::vector<nccl_core::ResourceGrant> grants;  ///< Of its own needs.
};

}  // namespace cuco::loopback
