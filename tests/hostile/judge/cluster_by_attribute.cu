// SPDX-License-Identifier: Apache-2.0
// tries: asks for clusters of four blocks in the launch, which a graph repeats
// verdict: crashed
// because: clusters of 4 blocks
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
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  cudaLaunchAttribute clusters[1];
  clusters[0].id = cudaLaunchAttributeClusterDimension;
  clusters[0].val.clusterDim.x = 4;
  clusters[0].val.clusterDim.y = 1;
  clusters[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 256;
  config.stream = stream;
  config.attrs = clusters;
  config.numAttrs = 1;
  const cudaError_t launched =
      cudaLaunchKernelEx(&config, place, (const uint4*)other, (uint4*)mine, bytes / 16);
  cudaGraph_t graph;
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || launched != cudaSuccess) return 1;
  cudaGraphExec_t exec;
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess ||
      cudaGraphLaunch(exec, stream) != cudaSuccess) {
    return 2;
  }
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
