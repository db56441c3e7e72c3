// SPDX-License-Identifier: Apache-2.0
// tries: an edge of a graph over which a kernel begins before its input is there
// verdict: crashed
// because: programmatic dependent launch
// fidelity: final
// cuco: evolve begin host

// common: scratch

__global__ void copy_over(const uint4* from, uint4* to, size_t count) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    to[i] = from[i];
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
  cudaGraphNode_t product, copy;
  size_t nodes = 1;
  cudaGraphGetNodes(graph, &product, &nodes);
  const uint4* from = (const uint4*)state.scratch;
  uint4* to = (uint4*)mine;
  size_t vectors = bytes / 16;
  void* arguments[] = {&from, &to, &vectors};
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = (void*)copy_over;
  params.kernel.gridDim = 8;
  params.kernel.blockDim = 256;
  params.kernel.kernelParams = arguments;
  cudaGraphEdgeData early{};
  early.from_port = cudaGraphKernelNodePortProgrammatic;
  early.type = cudaGraphDependencyTypeProgrammatic;
  if (cudaGraphAddNode(&copy, graph, &product, &early, 1, &params) != cudaSuccess) return 1;
  cudaGraphExec_t exec;
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 2;
  if (cudaGraphLaunch(exec, stream) != cudaSuccess) return 3;
  cudaGraphDestroy(graph);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
