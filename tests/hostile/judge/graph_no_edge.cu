// SPDX-License-Identifier: Apache-2.0
// tries: a graph whose copies to the output do not come after the product
// verdict: findings
// because: race
// fidelity: final
// cuco: evolve begin host

// common: scratch

__global__ void idle(long long cycles) {
  for (const long long end = clock64() + cycles; clock64() < end;) {
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  const size_t bytes = count * (s.bf16 ? 2 : 4);
  char* mine = c + context.rank * bytes;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           state.scratch, stream);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaKernelNodeParams params{};
  long long cycles = 200000 + 20LL * s.k * s.n;
  void* arguments[] = {&cycles};
  params.func = (void*)idle;
  params.gridDim = 1;
  params.blockDim = 1;
  params.kernelParams = arguments;
  cudaGraphNode_t pause, copy;
  cudaGraphAddKernelNode(&pause, graph, nullptr, 0, &params);
  cudaGraphAddMemcpyNode1D(&copy, graph, &pause, 1, mine, state.scratch, bytes, cudaMemcpyDeviceToDevice);
  cudaGraphExec_t exec;
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 1;
  if (cudaGraphLaunch(exec, stream) != cudaSuccess) return 2;
  cudaGraphDestroy(graph);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
