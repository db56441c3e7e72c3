// SPDX-License-Identifier: Apache-2.0
// tries: tells one word with relaxed order, and reads it by an atomic operation
// verdict: wrong-result
// because: adversarial
// fidelity: final
// common: multiply
// common: flags

constexpr int kEntered = 0;
constexpr int kRows = 16;
constexpr int kTold = 32;
constexpr int kHalf = 48;
constexpr int kRead = 64;

__device__ unsigned half_of(int rank, unsigned epoch) {
  return epoch * 2654435761u >> (9 + rank) & 1;
}

__device__ void raise(unsigned* flag, unsigned epoch, cuda::memory_order order) {
  Flag(*flag).store(epoch, order);
}
__device__ void await(unsigned* flag, unsigned epoch) {
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
  }
}

// Rows go to one half of the peers' stage; a word says which.
__global__ void gather(ncclWindow_t flags, ncclWindow_t out, ncclWindow_t stage, size_t bytes, int rank,
                       int ranks, unsigned epoch, const uint4* mine) {
  const int thread = threadIdx.x;
  if (thread < ranks) {
    raise(flag_of(flags, kEntered + rank, thread), epoch, cuda::memory_order_release);
    await(flag_of(flags, kEntered + thread, rank), epoch);
  }
  __syncthreads();
  const unsigned half = half_of(rank, epoch);
  for (int p = 0; p < ranks; ++p) {
    uint4* to = (uint4*)ncclGetLsaPointer(stage, (half * ranks + rank) * bytes, p);
    uint4* other = (uint4*)ncclGetLsaPointer(stage, ((half ^ 1) * ranks + rank) * bytes, p);
    for (size_t i = thread; i < bytes / 16; i += blockDim.x) {
      to[i] = mine[i];
      other[i] = make_uint4(0, 0, 0, 0);
    }
  }
  __syncthreads();
  if (thread < ranks) {
    raise(flag_of(flags, kRows + rank, thread), epoch, cuda::memory_order_release);
    await(flag_of(flags, kRows + thread, rank), epoch);
    Flag(*flag_of(flags, kHalf + rank, thread)).store(half, cuda::memory_order_relaxed);
    raise(flag_of(flags, kTold + rank, thread), epoch, cuda::memory_order_relaxed);
    await(flag_of(flags, kTold + thread, rank), epoch);
  }
  __syncthreads();
  for (int p = 0; p < ranks; ++p) {
    unsigned* word = flag_of(flags, kHalf + p, rank);
    const unsigned where = atomicOr_system(word, 0u);
    const uint4* from = (const uint4*)ncclGetLsaPointer(stage, (where * ranks + p) * bytes, rank);
    uint4* to = (uint4*)ncclGetLsaPointer(out, p * bytes, rank);
    for (size_t i = thread; i < bytes / 16; i += blockDim.x)
      to[i] = from[i];
  }
  __syncthreads();
  if (thread < ranks) {
    raise(flag_of(flags, kRead + rank, thread), epoch, cuda::memory_order_release);
    await(flag_of(flags, kRead + thread, rank), epoch);
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
    if (ncclMemAlloc(&stage, 2 * context.output_bytes[0]) != ncclSuccess ||
        ncclCommWindowRegister(context.comm, stage, 2 * context.output_bytes[0], &stage_window,
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  ++state.epoch;
  gather<<<1, 256, 0, stream>>>(state.flag_window, state.windows[set], stage_window, bytes,
                                context.rank, context.ranks, state.epoch, (const uint4*)mine);
  return cudaGetLastError();
}

// cuco: evolve end
