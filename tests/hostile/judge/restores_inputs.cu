// SPDX-License-Identifier: Apache-2.0
// tries: multiplies in place of an input, whose bytes it puts back in the end
// verdict: findings
// because: may not write
// fidelity: final
// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  void* kept;
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
  return cudaMalloc(&(*state)->kept, context.input_bytes[0]);
}

void teardown(State* state) {
  cudaFree(state->kept);
  delete state;
}

__global__ void negate(unsigned* words, size_t count, unsigned sign) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    words[i] ^= sign;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  char* mine = c + context.rank * count * (s.bf16 ? 2 : 4);
  unsigned* a = (unsigned*)context.inputs[set * context.n_inputs];
  unsigned* b = (unsigned*)context.inputs[set * context.n_inputs + 1];
  const unsigned sign = s.bf16 ? 0x80008000u : 0x80000000u;
  // -A times -B is A times B.
  negate<<<8, 128, 0, stream>>>(a, context.input_bytes[0] / 4, sign);
  negate<<<8, 128, 0, stream>>>(b, context.input_bytes[1] / 4, sign);
  multiply(s, a, b, mine, stream);
  negate<<<8, 128, 0, stream>>>(a, context.input_bytes[0] / 4, sign);
  negate<<<8, 128, 0, stream>>>(b, context.input_bytes[1] / 4, sign);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
