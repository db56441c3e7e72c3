// SPDX-License-Identifier: Apache-2.0
// tries: reads a peer's memory by its address, without any communication
// verdict: wrong-result
// because: unordered-read
// cuco: evolve begin host

// common: state

// common: setup

__global__ void copy_from(const float* theirs, float* mine, size_t count) {
  for (size_t i = threadIdx.x; i < count; i += blockDim.x)
    mine[i] = theirs[i];
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t count = (size_t)s.m * s.n * (s.bf16 ? 2 : 4) / 4;
  char* c = (char*)context.outputs[set * context.n_outputs];
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           c + context.rank * count * 4, stream);
  // On the virtual cluster all devices are in one address space, 2^38 bytes apart.
  for (int peer = 0; peer < context.ranks; ++peer) {
    const long long away = (long long)(peer - context.rank) << 38;
    if (peer == context.rank) continue;
    copy_from<<<1, 256, 0, stream>>>((const float*)(c + peer * count * 4 + away),
                                     (float*)(c + peer * count * 4), count);
  }
  return 0;
}

// cuco: evolve end
