// SPDX-License-Identifier: Apache-2.0
// NCCL's device API: load/store windows with barriers, GIN put and signal, multimem.
// nvcc -std=c++17 -ptx -arch=compute_90 device_api.cu -o device_api.ptx
#include <nccl.h>
#include <nccl_device.h>

__global__ void sum_peers(ncclWindow_t window, size_t count, ncclDevComm comm) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamLsa(comm),
                                             comm.lsaBarrier, blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  float* mine = static_cast<float*>(ncclGetLocalPointer(window, 0));
  for (int peer = 0; peer < comm.lsaSize; ++peer) {
    const float* theirs = static_cast<float*>(ncclGetLsaPointer(window, 0, peer));
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) mine[i] += theirs[i];
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);
}

__global__ void put_to_peers(ncclWindow_t to, ncclWindow_t from, size_t bytes, ncclDevComm comm) {
  ncclGin gin{comm, 0};
  const ncclTeam world = ncclTeamWorld(comm);
  const uint64_t before = gin.readSignal(0);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, to, world.rank * bytes, from, peer * bytes, bytes, ncclGin_SignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, before + world.nRanks);
  gin.flush(ncclCoopCta());
}

__global__ void sum_multimem(ncclWindow_t window, ncclDevComm comm) {
  float* p = static_cast<float*>(ncclGetLsaMultimemPointer(window, 0, comm)) + threadIdx.x;
  float value;
  asm volatile("multimem.ld_reduce.global.add.f32 %0, [%1];" : "=f"(value) : "l"(p));
  asm volatile("multimem.st.global.f32 [%0], %1;" ::"l"(p), "f"(value));
}
