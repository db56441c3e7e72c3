// SPDX-License-Identifier: Apache-2.0
// tries: multiplies into memory of a pool that another stream may give to somebody else
// verdict: findings
// because: memory that was freed before
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  void* rows = nullptr;
  if (cudaMallocAsync(&rows, count * (s.bf16 ? 2 : 4), stream) != cudaSuccess) return 1;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           rows, stream);
  cudaFreeAsync(rows, stream);  // before the collective that reads it
  return ncclAllGather(rows, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
