// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where everything lies in the one 64-bit address space of the virtual cluster.
///
/// A device address is the server's virtual address, so a copy is a memcpy and a kernel's load is a
/// load. Only the shared and local windows are fictitious: they mean "this block's" and "this
/// thread's" memory and are resolved at each access.
#pragma once

#include <cstdint>

namespace cuco::vgpu {

using Address = std::uint64_t;

inline constexpr Address kCodeBase = 0x0500'0000'0000;  ///< Fake addresses of functions.
inline constexpr std::uint64_t kCodeStride = 16;
inline constexpr Address kSharedWindow = 0x1000'0000'0000;  ///< Generic view of .shared.
inline constexpr Address kLocalWindow = 0x1100'0000'0000;   ///< Generic view of .local.

inline constexpr Address kDeviceBase = 0x2000'0000'0000;  ///< Device d at + d * kDeviceStride.
inline constexpr std::uint64_t kDeviceStride = std::uint64_t{1} << 38U;
inline constexpr unsigned kMaxDevices = 64;

inline constexpr Address kFlatBase = 0x3000'0000'0000;  ///< LSA: world rank r at + r * kFlatStride.
inline constexpr std::uint64_t kFlatStride = std::uint64_t{1} << 36U;  ///< stride4G = 16

inline constexpr Address kMulticastBase = 0x3800'0000'0000;  ///< multimem addresses.

inline constexpr Address kHostBase =
    0x4000'0000'0000;  ///< Pinned memory, process p at + p * stride.
inline constexpr std::uint64_t kHostStride = std::uint64_t{1} << 36U;
inline constexpr unsigned kMaxProcesses = 128;

inline constexpr unsigned kGranuleShift = 21;
inline constexpr std::uint64_t kGranule = std::uint64_t{1} << kGranuleShift;  ///< 2 MiB

/// Everything the granule table covers: [kMapBase, kMapEnd).
inline constexpr Address kMapBase = kDeviceBase;
inline constexpr Address kMapEnd = 0x5000'0000'0000;

static_assert(kDeviceBase + kMaxDevices * kDeviceStride <= kFlatBase);
static_assert(kHostBase + kMaxProcesses * kHostStride <= kMapEnd);

constexpr bool is_shared(Address a) {
  return (a >> 40U) == (kSharedWindow >> 40U);
}
constexpr bool is_local(Address a) {
  return (a >> 40U) == (kLocalWindow >> 40U);
}
/// Of an address in a thread's local memory, generic or not.
inline constexpr Address kLocalOffset = 0xFF'FFFF'FFFF;
constexpr bool is_mapped_region(Address a) {
  return a >= kMapBase && a < kMapEnd;
}

constexpr Address device_base(unsigned device) {
  return kDeviceBase + device * kDeviceStride;
}
constexpr Address host_base(unsigned process) {
  return kHostBase + process * kHostStride;
}

}  // namespace cuco::vgpu
