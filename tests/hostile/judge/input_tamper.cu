// SPDX-License-Identifier: Apache-2.0
// tries: changes an input after use, so that a later check would agree with anything
// verdict: findings
// because: input A was written to
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const int code = honest(state, set, stream);
  const cuco_context& context = state.context;
  cudaMemsetAsync((char*)context.inputs[set * context.n_inputs] + 64, 0, 16, stream);
  return code;
}

// cuco: evolve end
