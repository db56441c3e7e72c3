// SPDX-License-Identifier: Apache-2.0
// tries: honest: a barrier, then each flag is released by the thread that raises it
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

constexpr int kEntered = 0;
constexpr int kArrived = 16;

__global__ void enter(ncclWindow_t flags, int rank, int ranks, unsigned epoch) {
  const int peer = threadIdx.x;
  if (peer < ranks)
    Flag(*flag_of(flags, kEntered + rank, peer)).store(epoch, cuda::memory_order_release);
}

__global__ void gather(
    ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks, unsigned epoch) {
  const int peer = threadIdx.x;
  if (peer < ranks) {
    while (Flag(*flag_of(flags, kEntered + peer, rank)).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
  for (int i = 1; i < ranks; ++i)
    copy_to(out, rank * bytes, bytes, rank, (rank + i) % ranks);
  __syncthreads();
  if (peer >= ranks) return;
  Flag(*flag_of(flags, kArrived + rank, peer)).store(epoch, cuda::memory_order_release);
  while (Flag(*flag_of(flags, kArrived + peer, rank)).load(cuda::memory_order_acquire) < epoch) {
  }
}

// common: run
  ++state.epoch;
  enter<<<1, 32, 0, stream>>>(state.flag_window, context.rank, context.ranks, state.epoch);
  gather<<<1, 256, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                context.ranks, state.epoch);
  return cudaGetLastError();
}

// cuco: evolve end
