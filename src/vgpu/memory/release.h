// SPDX-License-Identifier: Apache-2.0
/// \file
/// What releasing and acquiring operations wait for.
#pragma once

#include "vgpu/memory/access.h"

namespace cuco::vgpu {

/// What a release, or a fence, of that scope waits for: the stores of the block so far.
void wait_for_stores(Warp& w, Scope scope);
/// Of a strong operation that is about to take effect: releases wait first.
inline void release_stores(Warp& w, const MemoryAux& aux) {
  if (aux.order == Order::Release || aux.order == Order::AcqRel) wait_for_stores(w, aux.scope);
}

/// Nothing behind an acquiring load goes on before it has its value.
void wait_for_result(Warp& w, const Op& op);

}  // namespace cuco::vgpu
