// SPDX-License-Identifier: Apache-2.0
// tries: passes rows with relaxed stores, flags and loads: nothing races, and nothing is ordered
// verdict: wrong-result
// because: adversarial
// fidelity: final
// common: multiply
// common: flags

constexpr int kEntered = 0;
constexpr int kArrived = 16;

// Nothing but strong operations: each word is stored, announced and read without an order.
__global__ void gather(
    ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks, unsigned epoch,
    const unsigned* mine, ncclWindow_t stage) {
  const int thread = threadIdx.x;
  if (thread < ranks) {
    Flag(*flag_of(flags, kEntered + rank, thread)).store(epoch, cuda::memory_order_release);
    while (Flag(*flag_of(flags, kEntered + thread, rank)).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
  for (int p = 0; p < ranks; ++p) {
    unsigned* to = (unsigned*)ncclGetLsaPointer(stage, rank * bytes, p);
    for (size_t i = thread; i < bytes / 4; i += blockDim.x)
      Flag(to[i]).store(mine[i], cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (thread < ranks) {
    Flag(*flag_of(flags, kArrived + rank, thread)).store(epoch, cuda::memory_order_relaxed);
    while (Flag(*flag_of(flags, kArrived + thread, rank)).load(cuda::memory_order_relaxed) < epoch) {
    }
  }
  __syncthreads();
  for (int p = 0; p < ranks; ++p) {
    unsigned* from = (unsigned*)ncclGetLsaPointer(stage, p * bytes, rank);
    unsigned* to = (unsigned*)ncclGetLsaPointer(out, p * bytes, rank);
    for (size_t i = thread; i < bytes / 4; i += blockDim.x)
      to[i] = Flag(from[i]).load(cuda::memory_order_relaxed);
  }
  // The stage is free again when all have read it.
  __syncthreads();
  if (thread < ranks) {
    Flag(*flag_of(flags, 2 * kArrived + rank, thread)).store(epoch, cuda::memory_order_release);
    while (Flag(*flag_of(flags, 2 * kArrived + thread, rank)).load(cuda::memory_order_acquire) < epoch) {
    }
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* mine = (char*)context.outputs[set * context.n_outputs] + context.rank * bytes;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  static void* stage = nullptr;
  static ncclWindow_t stage_window;
  if (stage == nullptr) {
    if (ncclMemAlloc(&stage, context.output_bytes[0]) != ncclSuccess ||
        ncclCommWindowRegister(context.comm, stage, context.output_bytes[0], &stage_window,
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  ++state.epoch;
  gather<<<1, 256, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                context.ranks, state.epoch, (const unsigned*)mine, stage_window);
  return cudaGetLastError();
}

// cuco: evolve end
