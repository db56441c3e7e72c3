// SPDX-License-Identifier: Apache-2.0
// The last block to have copied raises a flag on every peer; a flag per source holds the epoch.
// A rank says that it has entered the call before anybody writes into its output.
// common: multiply

// common: flags

constexpr int kEntered = 0;   // words of flags: who has entered,
constexpr int kArrived = 16;  // and whose rows have arrived

__global__ void enter(ncclWindow_t flags, int rank, int ranks, unsigned epoch) {
  const int peer = threadIdx.x;
  if (peer < ranks) {
    Flag(*flag_of(flags, kEntered + rank, peer)).store(epoch, cuda::memory_order_release);
  }
}

__global__ void gather(ncclWindow_t flags,
                       ncclWindow_t out,
                       size_t bytes,
                       int rank,
                       int ranks,
                       unsigned epoch,
                       unsigned* counter) {
  __shared__ bool last;
  for (int i = 1; i < ranks; ++i) {
    const int peer = (rank + i) % ranks;
    if (threadIdx.x == 0) {
      Flag entered(*flag_of(flags, kEntered + peer, rank));
      while (entered.load(cuda::memory_order_acquire) < epoch) {
      }
    }
    __syncthreads();
    copy_to(out, rank * bytes, bytes, rank, peer);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    __threadfence_system();
  }
  __syncthreads();
  if (!last || threadIdx.x >= ranks) return;
  const int peer = threadIdx.x;
  Flag(*flag_of(flags, kArrived + rank, peer)).store(epoch, cuda::memory_order_release);
  Flag arrived(*flag_of(flags, kArrived + peer, rank));
  while (arrived.load(cuda::memory_order_acquire) < epoch) {
  }
}

// common: run
  ++state.epoch;
  enter<<<1, 32, 0, stream>>>(state.flag_window, context.rank, context.ranks, state.epoch);
  gather<<<4, 128, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                context.ranks, state.epoch, state.counter);
  return cudaGetLastError();
}

// cuco: evolve end
