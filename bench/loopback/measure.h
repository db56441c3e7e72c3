// SPDX-License-Identifier: Apache-2.0
// What measure.cu and measure_mpi.cu share: kernels, and how a figure is printed: name, value,
// unit.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "../../tests/e2e/nccl/device.h"

namespace {

/// Rank 0 and 1 answer each other's signals; each signal follows a small put.
/// `before`: signals of earlier calls; to read them here would be a race with the peer's first.
__global__ void ping_pong(
    ncclDevComm comm, ncclWindow_t window, size_t bytes, int rounds, uint64_t before) {
  ncclGin gin{comm, 0};
  const int peer = 1 - comm.rank;
  for (int i = 1; i <= rounds; ++i) {
    if (comm.rank == 1) gin.waitSignal(ncclCoopThread(), 0, before + i);
    gin.put(ncclTeamWorld(comm), peer, window, 0, window, 1 << 20, bytes, ncclGin_SignalInc{0},
            ncclGin_None{}, ncclCoopThread());
    if (comm.rank == 0) gin.waitSignal(ncclCoopThread(), 0, before + i);
  }
  gin.flush(ncclCoopThread());
}

/// One put from rank 0 to rank 1. The clock is the GPU's, and so the same for both: from before the
/// put to behind the wait.
__global__ void one_put(ncclDevComm comm, ncclWindow_t window, size_t bytes, long long* clocks) {
  ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(1);
  ncclLsaBarrierSession<ncclCoopThread> barrier{ncclCoopThread(), comm, ncclTeamTagLsa(), 0};
  barrier.sync(ncclCoopThread(), cuda::memory_order_acq_rel);
  long long now;
  if (comm.rank == 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    clocks[0] = now;
    gin.put(ncclTeamWorld(comm), 1, window, 0, window, 0, bytes, ncclGin_SignalInc{1},
            ncclGin_None{}, ncclCoopThread());
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    clocks[1] = now;
    gin.flush(ncclCoopThread());
  } else if (comm.rank == 1) {
    gin.waitSignal(ncclCoopThread(), 1, before + 1);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    clocks[2] = now;
  }
}

__global__ void barriers(ncclDevComm comm, int rounds) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  for (int i = 0; i < rounds; ++i)
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

/// Every rank writes its block to every other.
__global__ void spread(ncclDevComm comm, ncclWindow_t window, size_t lines) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  const size_t mine = comm.rank * lines * 16;
  const float4* source = static_cast<const float4*>(ncclGetLocalPointer(window, mine));
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  for (int step = 1; step < comm.lsaSize; ++step) {
    float4* target =
        static_cast<float4*>(ncclGetLsaPointer(window, mine, (comm.lsaRank + step) % comm.lsaSize));
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < lines; i += 4 * stride) {
      const float4 a = source[i], b = source[i + stride], c = source[i + 2 * stride],
                   d = source[i + 3 * stride];
      target[i] = a;
      target[i + stride] = b;
      target[i + 2 * stride] = c;
      target[i + 3 * stride] = d;
    }
    for (; i < lines; i += stride)
      target[i] = source[i];
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);
}

/// Many puts in a row from every rank to the next one, each with a signal; until all have come.
__global__ void burst(ncclDevComm comm, ncclWindow_t window, size_t bytes, int puts) {
  ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(2);
  ncclLsaBarrierSession<ncclCoopThread> barrier{ncclCoopThread(), comm, ncclTeamTagLsa(), 0};
  barrier.sync(ncclCoopThread(), cuda::memory_order_acq_rel);
  for (int i = 0; i < puts; ++i) {
    gin.put(ncclTeamWorld(comm), (comm.rank + 1) % comm.nRanks, window, (1 << 20) + i * bytes,
            window, i * bytes, bytes, ncclGin_SignalInc{2}, ncclGin_None{}, ncclCoopThread());
  }
  gin.waitSignal(ncclCoopThread(), 2, before + puts);
  gin.flush(ncclCoopThread());
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void say(const char* name, double value, const char* unit) {
  std::printf("figure %s %.6g %s\n", name, value, unit);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace
