// SPDX-License-Identifier: Apache-2.0
// tries: puts what was released for the device as if it were for the system
// verdict: findings
// because: unordered-read
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
  copy_rows(comm, out, rows, bytes, comm.rank);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) put_rows(comm, out, bytes);
  await_rows(comm, wanted);
}

// cuco: evolve end
