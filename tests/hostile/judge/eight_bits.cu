// SPDX-License-Identifier: Apache-2.0
// tries: rounds bf16 operands to three bits of mantissa, as an 8-bit float has
// verdict: wrong-result
// because: bf16=1
// fidelity: standard
// cuco: evolve begin host

// common: state

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

void teardown(State* state) {
  delete state;
}

__device__ float coarse(__nv_bfloat16 x) {
  const unsigned bits = __float_as_uint(__bfloat162float(x));
  return __uint_as_float((bits + (1u << 19)) & ~((1u << 20) - 1));
}

__global__ void multiply_coarse(
    const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int d = 0; d < k; ++d)
    sum += coarse(a[(size_t)(i / n) * k + d]) * coarse(b[(size_t)d * n + i % n]);
  c[i] = __float2bfloat16(sum);
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  if (!s.bf16) return honest(state, set, stream);
  const size_t count = (size_t)s.m * s.n;
  __nv_bfloat16* c = (__nv_bfloat16*)context.outputs[set * context.n_outputs];
  __nv_bfloat16* mine = c + context.rank * count;
  multiply_coarse<<<(count + 255) / 256, 256, 0, stream>>>(
      (const __nv_bfloat16*)context.inputs[set * context.n_inputs],
      (const __nv_bfloat16*)context.inputs[set * context.n_inputs + 1], mine, s.m, s.n, s.k);
  return ncclAllGather(mine, c, count, ncclBfloat16, context.comm, stream);
}

// cuco: evolve end
