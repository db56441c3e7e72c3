// SPDX-License-Identifier: Apache-2.0
// tries: honest: gives up with a trap when its peers do not come for ten seconds
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

constexpr int kEntered = 0;
constexpr int kArrived = 16;

__device__ void await(unsigned* flag, unsigned epoch) {
  const long long end = clock64() + 20000000000;
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
    if (clock64() > end) __trap();
  }
}

__global__ void gather(
    ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks, unsigned epoch) {
  const int thread = threadIdx.x;
  if (thread < ranks) {
    Flag(*flag_of(flags, kEntered + rank, thread)).store(epoch, cuda::memory_order_release);
    while (Flag(*flag_of(flags, kEntered + thread, rank)).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
  for (int i = 1; i < ranks; ++i)
    copy_to(out, rank * bytes, bytes, rank, (rank + i) % ranks);
  __syncthreads();
  if (thread >= ranks) return;
  Flag(*flag_of(flags, kArrived + rank, thread)).store(epoch, cuda::memory_order_release);
  await(flag_of(flags, kArrived + thread, rank), epoch);
}

// common: run
  ++state.epoch;
  gather<<<1, 256, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                context.ranks, state.epoch);
  return cudaGetLastError();
}

// cuco: evolve end
