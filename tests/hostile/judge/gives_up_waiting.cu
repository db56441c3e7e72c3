// SPDX-License-Identifier: Apache-2.0
// tries: waits for its peers for four milliseconds at most
// verdict: wrong-result
// because: never written
// fidelity: final
// common: multiply
// common: flags

constexpr int kEntered = 0;
constexpr int kArrived = 16;

__device__ void await(unsigned* flag, unsigned epoch) {
  const long long end = clock64() + 8000000;
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch && clock64() < end) {
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
