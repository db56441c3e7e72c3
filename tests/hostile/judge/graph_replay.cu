// SPDX-License-Identifier: Apache-2.0
// tries: captures the first iteration as a graph and replays it whatever the buffers are
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  static cudaGraphExec_t kept = nullptr;
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t count = (size_t)s.m * s.n;
  char* c = (char*)context.outputs[set * context.n_outputs];
  char* mine = c + context.rank * count * (s.bf16 ? 2 : 4);
  if (kept == nullptr) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
             mine, stream);
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return 1;
    if (cudaGraphInstantiate(&kept, graph, 0) != cudaSuccess) return 2;
  }
  if (cudaGraphLaunch(kept, stream) != cudaSuccess) return 3;
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
