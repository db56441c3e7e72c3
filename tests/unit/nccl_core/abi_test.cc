// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include <gtest/gtest.h>

#include "nccl_core/abi_2_28.h"

#ifdef CUCO_HAVE_NCCL_HEADERS
#include <nccl.h>
#include <nccl_device.h>
#include <nccl_device/gin/proxy/gin_proxy_device_host_common.h>

namespace cuco::nccl_core::abi_2_28 {
namespace {

#define EXPECT_SAME_FIELD(ours, our_field, theirs, their_field)        \
  EXPECT_EQ(offsetof(ours, our_field), offsetof(theirs, their_field)); \
  EXPECT_EQ(sizeof(ours::our_field), sizeof(theirs::their_field))

TEST(Abi228, RequirementsMatchTheHeaders) {
  static_assert(NCCL_VERSION_CODE == kVersion);
  EXPECT_EQ(sizeof(DevCommRequirements), sizeof(ncclDevCommRequirements));
  EXPECT_SAME_FIELD(DevCommRequirements, lsa_multimem, ncclDevCommRequirements, lsaMultimem);
  EXPECT_SAME_FIELD(DevCommRequirements, barrier_count, ncclDevCommRequirements, barrierCount);
  EXPECT_SAME_FIELD(DevCommRequirements, gin_force_enable, ncclDevCommRequirements, ginForceEnable);
  EXPECT_SAME_FIELD(DevCommRequirements, gin_counter_count, ncclDevCommRequirements,
                    ginCounterCount);
  EXPECT_EQ(sizeof(ResourceRequirements), sizeof(ncclDevResourceRequirements));
  EXPECT_SAME_FIELD(ResourceRequirements, out_buffer_handle, ncclDevResourceRequirements,
                    outBufferHandle);
  EXPECT_SAME_FIELD(ResourceRequirements, out_gin_counter_start, ncclDevResourceRequirements,
                    outGinCounterStart);
  EXPECT_EQ(sizeof(TeamRequirements), sizeof(ncclTeamRequirements));
  EXPECT_SAME_FIELD(TeamRequirements, out_multimem_handle, ncclTeamRequirements, outMultimemHandle);
  EXPECT_EQ(sizeof(Team), sizeof(ncclTeam));
}

TEST(Abi228, WindowMatchesTheHeaders) {
  EXPECT_EQ(sizeof(Window), sizeof(ncclWindow_vidmem));
  EXPECT_SAME_FIELD(Window, lsa_flat_base, ncclWindow_vidmem, lsaFlatBase);
  EXPECT_SAME_FIELD(Window, lsa_rank, ncclWindow_vidmem, lsaRank);
  EXPECT_SAME_FIELD(Window, world_rank, ncclWindow_vidmem, worldRank);
  EXPECT_SAME_FIELD(Window, stride_4g, ncclWindow_vidmem, stride4G);
  EXPECT_SAME_FIELD(Window, mc_offset_4k, ncclWindow_vidmem, mcOffset4K);
  EXPECT_SAME_FIELD(Window, gin_offset_4k, ncclWindow_vidmem, ginOffset4K);
  EXPECT_SAME_FIELD(Window, gin_wins, ncclWindow_vidmem, ginWins);
  EXPECT_EQ(sizeof(WindowTable), sizeof(ncclDevCommWindowTable));
}

TEST(Abi228, DevCommMatchesTheHeaders) {
  EXPECT_EQ(sizeof(DevComm), sizeof(ncclDevComm));
  EXPECT_SAME_FIELD(DevComm, lsa_size_rcp32, ncclDevComm, lsaSize_rcp32);
  EXPECT_SAME_FIELD(DevComm, window_table, ncclDevComm, windowTable);
  EXPECT_SAME_FIELD(DevComm, resource_window, ncclDevComm, resourceWindow);
  EXPECT_SAME_FIELD(DevComm, resource_window_inlined, ncclDevComm, resourceWindow_inlined);
  EXPECT_SAME_FIELD(DevComm, lsa_multimem, ncclDevComm, lsaMultimem);
  EXPECT_SAME_FIELD(DevComm, lsa_barrier, ncclDevComm, lsaBarrier);
  EXPECT_SAME_FIELD(DevComm, rail_gin_barrier, ncclDevComm, railGinBarrier);
  EXPECT_SAME_FIELD(DevComm, gin_context_count, ncclDevComm, ginContextCount);
  EXPECT_SAME_FIELD(DevComm, gin_types, ncclDevComm, ginTypes);
  EXPECT_SAME_FIELD(DevComm, gin_handles, ncclDevComm, ginHandles);
  EXPECT_SAME_FIELD(DevComm, gin_signal_base, ncclDevComm, ginSignalBase);
  EXPECT_SAME_FIELD(DevComm, gin_counter_count, ncclDevComm, ginCounterCount);
  EXPECT_SAME_FIELD(DevComm, gin_signal_shadows, ncclDevComm, ginSignalShadows);
}

TEST(Abi228, ProxyContextMatchesTheHeaders) {
  EXPECT_EQ(sizeof(GinProxyContext), sizeof(ncclGinProxyGpuCtx_t));
  EXPECT_SAME_FIELD(GinProxyContext, queues, ncclGinProxyGpuCtx_t, queues);
  EXPECT_SAME_FIELD(GinProxyContext, producer_indices, ncclGinProxyGpuCtx_t, pis);
  EXPECT_SAME_FIELD(GinProxyContext, consumer_indices, ncclGinProxyGpuCtx_t, cis);
  EXPECT_SAME_FIELD(GinProxyContext, counters, ncclGinProxyGpuCtx_t, counters);
  EXPECT_SAME_FIELD(GinProxyContext, signals, ncclGinProxyGpuCtx_t, signals);
}

}  // namespace
}  // namespace cuco::nccl_core::abi_2_28
#endif
