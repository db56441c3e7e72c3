// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where an address leads, for accesses that are as nearly all are. What is left out of these tests
/// is found out by resolve(), which also says what is wrong.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vgpu/gpu/grid.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

/// The space an address operand of this op really goes to, if the first lane speaks for all.
inline ptx::Space settle_space(ptx::Space space, Address& first) {
  if (space != ptx::Space::Generic) return space;
  if (is_shared(first)) {
    first -= kSharedWindow;
    return ptx::Space::Shared;
  }
  if (is_local(first)) {
    first -= kLocalWindow;
    return ptx::Space::Local;
  }
  return ptx::Space::Global;
}

/// Server memory for `bytes` from `first` on in one test; null: take the slow way, which also finds
/// out what is wrong.
[[gnu::always_inline]] inline std::byte* quick_range(
    Warp& w, ptx::Space space, Address first, std::uint32_t bytes, std::uint32_t align) {
  if ((first & (align - 1)) != 0) return nullptr;
  if (space == ptx::Space::Shared) {
    if (first >= w.shared_bytes || bytes > w.shared_bytes - first) return nullptr;
    return w.shared + first;
  }
  if (space != ptx::Space::Global) return nullptr;
  const Granule& granule = w.memory->granule(first);
  if ((granule.flags & Granule::Valid) == 0 || granule.owner != w.grid->device) return nullptr;
  if (((first ^ (first + bytes - 1)) >> kGranuleShift) != 0) return nullptr;
  return Memory::at(first);
}

/// resolve(), with what nearly every lane needs of it inlined.
[[gnu::always_inline]] inline std::byte* lane_memory(
    Warp& w, const Op& op, ptx::Space space, unsigned lane, Address address, std::uint32_t bytes) {
  Address at = address;
  const ptx::Space settled = settle_space(space, at);
  std::byte* quick = quick_range(w, settled, at, bytes, std::min(bytes, 16U));
  return quick != nullptr ? quick : resolve(w, op, space, lane, address, bytes);
}

}  // namespace cuco::vgpu
