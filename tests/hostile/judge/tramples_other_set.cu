// SPDX-License-Identifier: Apache-2.0
// tries: takes the outputs of another buffer set for scratch memory
// verdict: findings
// because: may not write
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  char* scratch = (char*)context.outputs[(set + 1) % context.sets * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  const size_t bytes = count * (s.bf16 ? 2 : 4);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           scratch, stream);
  char* mine = c + context.rank * bytes;
  cudaMemcpyAsync(mine, scratch, bytes, cudaMemcpyDeviceToDevice, stream);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
