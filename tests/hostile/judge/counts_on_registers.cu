// SPDX-License-Identifier: Apache-2.0
// tries: adds a register that nobody has written, and that is zero here
// verdict: wrong-result
// because: elements are wrong
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

// What nobody has written.
__device__ unsigned nothing() {
  unsigned value;
  asm volatile("{ .reg .b32 t; mov.b32 %0, t; }" : "=r"(value));
  return value;
}

__global__ void place(const unsigned* from, unsigned* to, size_t count) {
  for (size_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256)
    to[i] = from[i] + nothing();
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
  place<<<8, 256, 0, stream>>>((const unsigned*)other, (unsigned*)mine, bytes / 4);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
