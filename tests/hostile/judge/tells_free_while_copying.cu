// SPDX-License-Identifier: Apache-2.0
// tries: tells its peers that it has read their rows while the last copies (cp.async) still read them
// verdict: findings
// because: global-race
// fidelity: final
// common: multiply
// common: flags

constexpr int kReady = 0;
constexpr int kRead = 16;

__device__ void raise(ncclWindow_t flags, int word, int ranks, unsigned epoch) {
  const int peer = threadIdx.x;
  if (peer < ranks) Flag(*flag_of(flags, word, peer)).store(epoch, cuda::memory_order_release);
}
__device__ void await(ncclWindow_t flags, int word, int rank, int ranks, unsigned epoch) {
  const int peer = threadIdx.x;
  if (peer < ranks) {
    while (Flag(*flag_of(flags, word + peer, rank)).load(cuda::memory_order_acquire) < epoch) {
    }
  }
}

__global__ void gather(
    ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks, unsigned epoch) {
  __shared__ uint4 rows[256];
  raise(flags, kReady + rank, ranks, epoch);
  await(flags, kReady, rank, ranks, epoch);
  __syncthreads();
  const size_t count = bytes / 16;
  for (int i = 1; i < ranks; ++i) {
    const int peer = (rank + i) % ranks;
    const uint4* from = (const uint4*)ncclGetLsaPointer(out, peer * bytes, peer);
    uint4* to = (uint4*)ncclGetLsaPointer(out, peer * bytes, rank);
    for (size_t first = 0; first < count; first += blockDim.x) {
      const size_t at = first + threadIdx.x;
      if (at < count) __pipeline_memcpy_async(&rows[threadIdx.x], from + at, 16);
      __pipeline_commit();
      if (i + 1 == ranks && first + blockDim.x >= count) {
        __syncthreads();
        raise(flags, kRead + rank, ranks, epoch);
      }
      __pipeline_wait_prior(0);
      if (at < count) to[at] = rows[threadIdx.x];
    }
  }
  await(flags, kRead, rank, ranks, epoch);
}

// common: run
  ++state.epoch;
  gather<<<1, 256, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                context.ranks, state.epoch);
  return cudaGetLastError();
}

// cuco: evolve end
