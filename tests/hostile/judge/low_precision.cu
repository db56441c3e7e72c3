// SPDX-License-Identifier: Apache-2.0
// tries: bf16 on the wire where fp32 was asked for
// verdict: wrong-result
// because: wrong result: C
// cuco: evolve begin host

// common: state

// common: setup

__global__ void coarsen(float* x, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x) {
    x[i] = __bfloat162float(__float2bfloat16(x[i]));
  }
}
int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  const int code = honest(state, set, stream);
  if (!state.shape.bf16) coarsen<<<32, 256, 0, stream>>>((float*)c, bytes / 4);
  return code;
}

// cuco: evolve end
