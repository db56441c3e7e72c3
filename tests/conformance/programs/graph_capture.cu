// SPDX-License-Identifier: Apache-2.0
// A captured graph with two branches, launched three times.
#include "check.h"

__global__ void fill(int* x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }
__global__ void sum(const int* a, const int* b, int* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] += a[i] * 100 + b[i];
}

int main() {
  const int n = 256;
  Buffer<int> a(n), b(n), c(n), d(n);
  cudaStream_t one, two;
  CHECK(cudaStreamCreate(&one));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, one));
  CHECK(cudaStreamWaitEvent(two, fork, 0));
  fill<<<n / 64, 64, 0, one>>>(a.data, 1);
  fill<<<n / 64, 64, 0, two>>>(b.data, 2);
  CHECK(cudaEventRecord(join, two));
  CHECK(cudaStreamWaitEvent(one, join, 0));
  sum<<<n / 64, 64, 0, one>>>(a.data, b.data, c.data);
  CHECK(cudaMemcpyAsync(d.data, c.data, n * sizeof(int), cudaMemcpyDeviceToDevice, one));
  CHECK(cudaStreamEndCapture(one, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, one));
  CHECK(cudaStreamSynchronize(one));
  const int wrong = compare(d.host(), std::vector<int>(n, 102 + 204 + 306), 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return wrong + verdict(nodes == 4, "graph of four nodes");
}
