// SPDX-License-Identifier: Apache-2.0
/// \file
/// What asynchronous copies need of mbarrier objects.
#pragma once

#include "vgpu/gpu/warp.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

/// An arrival of each active lane at the object that `op` addresses; if it does not `count`, the
/// object only learns that what it was promised has come.
void arrive_once(Warp& w, const Op& op, bool counts);

bool lower_mbarrier(Lowering& lowering, const ptx::Instruction& instruction);
/// cp.async.bulk of one dimension, between global memory and the block's own shared memory.
bool lower_bulk(Lowering& lowering, const ptx::Instruction& instruction);

}  // namespace cuco::vgpu
