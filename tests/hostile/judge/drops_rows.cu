// SPDX-License-Identifier: Apache-2.0
// tries: leaves out the last row of each rank
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  Shape s = state.shape;
  const size_t size = s.bf16 ? 2 : 4;
  const size_t count = (size_t)s.m * s.n;
  char* c = (char*)context.outputs[set * context.n_outputs];
  char* mine = c + context.rank * count * size;
  s.m -= 1;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
