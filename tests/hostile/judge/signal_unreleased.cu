// SPDX-License-Identifier: Apache-2.0
// tries: signals what it has stored to its peers without a release for them
// verdict: findings
// because: global-race
// fidelity: final
// cuco: evolve begin preamble
#include <cuda/atomic>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end
// cuco: evolve begin host

// common: gin

// common: released

__global__ void gather(ncclDevComm comm,
                       ncclWindow_t out,
                       const uint4* rows,
                       size_t bytes,
                       unsigned long long wanted) {
  for (int rank = 0; rank < comm.nRanks; ++rank)
    copy_rows(comm, out, rows, bytes, rank);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    ncclGin gin{comm, 0};
    for (int peer = 0; peer < comm.nRanks; ++peer) {
      if (peer == comm.rank) continue;
      gin.signal(ncclTeamWorld(comm), peer, ncclGin_SignalInc{0}, ncclCoopThread{}, ncclGin_None{},
                 kReleased, kReleased);
    }
  }
  await_rows(comm, wanted);
}

// cuco: evolve end
