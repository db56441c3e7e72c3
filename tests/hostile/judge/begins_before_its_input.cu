// SPDX-License-Identifier: Apache-2.0
// tries: lets the next kernel begin before this one has ended, and does not wait in it
// verdict: crashed
// because: programmatic dependent launch
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

__global__ void place(const uint4* from, uint4* to, size_t count) {
  for (size_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256)
    to[i] = from[i];
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
  cudaLaunchAttribute early[1];
  early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 256;
  config.stream = stream;
  config.attrs = early;
  config.numAttrs = 1;
  if (cudaLaunchKernelEx(&config, place, (const uint4*)other, (uint4*)mine, bytes / 16) !=
      cudaSuccess) {
    return 1;
  }
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
