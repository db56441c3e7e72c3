// SPDX-License-Identifier: Apache-2.0
// tries: copies a peer's rows by their address, which every rank of the simulation can guess
// verdict: crashed
// because: cuco_run failed
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* c = (char*)context.outputs[set * context.n_outputs];
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           c + context.rank * bytes, stream);
  for (int peer = 0; peer < context.ranks; ++peer) {
    const long long away = (long long)(peer - context.rank) << 38;
    if (peer == context.rank) continue;
    if (cudaMemcpyAsync(c + peer * bytes, c + peer * bytes + away, bytes, cudaMemcpyDeviceToDevice,
                        stream) != cudaSuccess) {
      return 9;
    }
  }
  return 0;
}

// cuco: evolve end
