// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels: what CUDA refuses at the call, and the piece of work that runs one.
#pragma once

#include <cstdint>

#include "vcluster/core/operation.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/gpu/trap.h"

namespace cuco::vcluster {

/// What a launch asks for, or why CUDA refuses it.
[[nodiscard]] Parsed parse_launch(const OperationParts& parts,
                                  Session& session,
                                  const wire::Launch& request,
                                  wire::Bytes arguments);
[[nodiscard]] WorkPtr make_kernel_work(const OperationParts& parts,
                                       Context& context,
                                       KernelOperation kernel);

/// From when on a kernel's way to its first instruction counts, whose turn has come. The way from
/// the host is long, but what is queued has it behind it: then only the gap between two is left.
[[nodiscard]] VTime kernel_begin(const vgpu::Gpu& gpu, const Work& work, VTime now);

/// The CUDA error that a trap becomes.
[[nodiscard]] std::int32_t status_of(vgpu::TrapKind kind);

/// Dynamic shared memory the function may ask for on the device.
[[nodiscard]] std::uint32_t dynamic_smem_limit(const Devices& devices,
                                               const Function& function,
                                               std::int32_t device);

}  // namespace cuco::vcluster
