// SPDX-License-Identifier: Apache-2.0
// tries: keeps the first answer and hands it out again
// verdict: wrong-result
// because: equals the previous iteration's
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  static void* kept = nullptr;
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  if (kept == nullptr) {
    const int code = honest(state, set, stream);
    cudaMalloc(&kept, bytes);
    cudaMemcpyAsync(kept, c, bytes, cudaMemcpyDeviceToDevice, stream);
    return code;
  }
  return cudaMemcpyAsync(c, kept, bytes, cudaMemcpyDeviceToDevice, stream);
}

// cuco: evolve end
