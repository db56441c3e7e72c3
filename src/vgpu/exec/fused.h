// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sequences of ops that run as one: see exec_fused.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "vgpu/lower/op.h"

namespace cuco::vgpu {

/// Handlers by which sequences are recognised.
void exec_load_shared_b32(Warp& w, const Op& op);
void exec_fma_f32(Warp& w, const Op& op);

/// Gives the first op of every known sequence the handler of the whole. The other ops stay as they
/// are: whoever jumps into the middle, or does not run with 32 lanes, executes them one by one.
/// `dies(op, ref)`: is the value that this op reads from `ref` wanted by nobody later?
void fuse(std::span<Op> ops, const std::function<bool(std::uint32_t op, Ref ref)>& dies);

}  // namespace cuco::vgpu
