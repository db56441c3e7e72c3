// SPDX-License-Identifier: Apache-2.0
// tries: discards the lines that it has just written: the cache still has them
// verdict: wrong-result
// because: nan
// cuco: evolve begin host

// common: state

// common: setup

__global__ void discard(char* at, size_t bytes) {
  for (size_t line = (blockIdx.x * 256 + threadIdx.x) * 128; line + 128 <= bytes;
       line += gridDim.x * 256 * 128) {
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(at + line) : "memory");
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  if (const int failed = honest(state, set, stream)) return failed;
  discard<<<8, 256, 0, stream>>>((char*)context.outputs[set * context.n_outputs],
                                 context.output_bytes[0]);
  return cudaGetLastError();
}

// cuco: evolve end
