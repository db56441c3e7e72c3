// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layouts of NCCL 2.28.9's device API, byte for byte, without NCCL's headers: what programs pass
/// to libnccl, and what their kernels read from device memory. The one place that knows them;
/// another NCCL version gets a file of its own beside this one, with its own namespace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuco::nccl_core::abi_2_28 {

inline constexpr int kVersion = 22809;
inline constexpr int kMaxGinContexts = 4;
inline constexpr std::uint64_t kWindowAlignment = 4096;
/// A resource handle h means byte offset h * 128 in the resource window.
inline constexpr std::uint64_t kResourceUnit = 128;
inline constexpr std::uint8_t kGinTypeProxy = 2;
inline constexpr int kWindowFlagSymmetric = 1;
inline constexpr std::uint32_t kConfigMagic = 0xcafebeef;

/// Device addresses are numbers here: nobody dereferences them on the host.
using Address = std::uint64_t;

struct Team {
  std::int32_t n_ranks, rank, stride;
};

struct ResourceRequirements {
  ResourceRequirements* next;
  std::size_t buffer_size, buffer_align;
  std::uint32_t* out_buffer_handle;
  std::int32_t gin_signal_count;
  std::int32_t gin_counter_count;
  std::uint32_t* out_gin_signal_start;
  std::uint32_t* out_gin_counter_start;
};
static_assert(sizeof(ResourceRequirements) == 56);

struct MultimemHandle {
  Address mc_base;
};

struct TeamRequirements {
  TeamRequirements* next;
  Team team;
  bool multimem;
  MultimemHandle* out_multimem_handle;
};
static_assert(sizeof(TeamRequirements) == 32);

struct DevCommRequirements {
  ResourceRequirements* resources;
  TeamRequirements* teams;
  bool lsa_multimem;
  std::int32_t barrier_count;
  std::int32_t lsa_barrier_count;
  std::int32_t rail_gin_barrier_count;
  std::int32_t lsa_lla2a_block_count, lsa_lla2a_slot_count;
  bool gin_force_enable;
  std::int32_t gin_context_count;
  std::int32_t gin_signal_count;
  std::int32_t gin_counter_count;
};
static_assert(sizeof(DevCommRequirements) == 56);

/// ncclWindow_vidmem: lives in device memory.
struct Window {
  Address win_host;
  Address lsa_flat_base;
  std::int32_t lsa_rank;
  std::int32_t world_rank;
  std::uint32_t stride_4g;
  std::uint32_t mc_offset_4k;
  std::uint32_t gin_offset_4k;
  Address gin_wins[kMaxGinContexts];
};
static_assert(sizeof(Window) == 72 && offsetof(Window, gin_wins) == 40);

/// ncclDevCommWindowTable: a list in device memory, read by ncclFindWindow only.
struct WindowTable {
  struct Entry {
    Address base, size, window;
  } entries[32];
  Address next;
};
static_assert(sizeof(WindowTable) == 776);

struct LsaBarrierHandle {
  std::uint32_t buffer;
  std::int32_t barriers;
};

struct GinBarrierHandle {
  std::uint32_t signal0;
  std::uint32_t buffer;
};

struct Lla2aHandle {
  std::uint32_t buffer;
  std::uint32_t slots;
};

/// ncclDevComm: filled on the host, passed by value to kernels.
struct DevComm {
  std::int32_t rank, n_ranks;
  std::uint32_t n_ranks_rcp32;
  std::int32_t lsa_rank, lsa_size;
  std::uint32_t lsa_size_rcp32;
  Address window_table;
  Address resource_window;
  Window resource_window_inlined;
  MultimemHandle lsa_multimem;
  LsaBarrierHandle lsa_barrier;
  GinBarrierHandle rail_gin_barrier;
  std::uint8_t gin_context_count;
  std::uint8_t gin_types[4];
  Address gin_handles[4];
  std::uint32_t gin_signal_base;
  std::int32_t gin_signal_count;
  std::uint32_t gin_counter_base;
  std::int32_t gin_counter_count;
  Address gin_signal_shadows;
};
static_assert(sizeof(DevComm) == 200 && offsetof(DevComm, gin_handles) == 144);
static_assert(offsetof(DevComm, lsa_multimem) == 112 && offsetof(DevComm, gin_signal_base) == 176);

/// ncclGinProxyGpuCtx_t: one per GIN context, in device memory.
struct GinProxyContext {
  std::int32_t n_ranks;
  std::uint32_t queue_size;  ///< A power of two.
  Address queues;            ///< One ring of 64-byte descriptors per destination world rank.
  Address producer_indices;  ///< u32 per destination, only touched by the device.
  Address consumer_indices;  ///< u32 per destination, credits written by the NIC.
  Address counters;          ///< u64 per counter id.
  Address signals;           ///< u64 per signal id.
};
static_assert(sizeof(GinProxyContext) == 48);

/// The reciprocal that the headers' fast 32-bit division expects.
[[nodiscard]] constexpr std::uint32_t reciprocal_32(std::uint32_t x) {
  return UINT32_MAX / x + ((x & (x - 1)) == 0 ? 1U : 0U);
}

}  // namespace cuco::nccl_core::abi_2_28
