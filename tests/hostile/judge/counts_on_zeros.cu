// SPDX-License-Identifier: Apache-2.0
// tries: counts blocks in memory that it has never cleared, and that is zero here
// verdict: findings
// because: uninitialised-read
// fidelity: final
// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  unsigned* arrived;
};

cudaError_t multiply(const Shape& s, const void* a, const void* b, void* c, cudaStream_t stream) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.n + tile - 1) / tile, (s.m + tile - 1) / tile);
  if (s.bf16) {
    cudaFuncSetAttribute(gemm_bf16, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBf16);
    gemm_bf16<<<grid, kThreadsBf16, kSharedBf16, stream>>>(
        (const __nv_bfloat16*)a, (const __nv_bfloat16*)b, (__nv_bfloat16*)c, s.m, s.n, s.k);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)a, (const float*)b, (float*)c, s.m, s.n,
                                             s.k);
  }
  return cudaGetLastError();
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return cudaMalloc(&(*state)->arrived, sizeof(unsigned));
}

void teardown(State* state) {
  cudaFree(state->arrived);
  delete state;
}

// The block that comes last does the copy of the last row once more, and leaves the count at zero.
__global__ void copy(const uint4* from, uint4* to, size_t count, unsigned* arrived) {
  __shared__ bool last;
  __threadfence();
  if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  for (size_t i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = from[i];
  if (threadIdx.x == 0) *arrived = 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  const size_t bytes = count * (s.bf16 ? 2 : 4);
  char* mine = c + context.rank * bytes;
  char* other = c + (context.rank + 1) % context.ranks * bytes;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           other, stream);
  copy<<<4, 128, 0, stream>>>((const uint4*)other, (uint4*)mine, bytes / 16, state.arrived);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
