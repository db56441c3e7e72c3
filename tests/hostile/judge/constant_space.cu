// SPDX-License-Identifier: Apache-2.0
// tries: loads global memory through constant space, where a GPU reads something else
// verdict: crashed
// because: outside of constant memory
// cuco: evolve begin host

// common: state

// common: setup

__global__ void touch(const unsigned* from, unsigned* to) {
  unsigned value = 0;
  asm volatile("ld.const.u32 %0, [%1];" : "=r"(value) : "l"(from + threadIdx.x));
  if (value == 0x12345678) *to = value;
}
int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  touch<<<1, 32, 0, stream>>>((const unsigned*)context.inputs[set * context.n_inputs],
                              (unsigned*)context.outputs[set * context.n_outputs]);
  return honest(state, set, stream);
}

// cuco: evolve end
