// SPDX-License-Identifier: Apache-2.0
// expect: memory of graphs is right
#include <cstdint>

#include "check.h"

__device__ int variable = 1;

__global__ void set(int* at, int value) {
  *at = value;
}
__global__ void add(int* at, const int* from) {
  *at += *from;
}

int read(const int* d) {
  int h = 0;
  OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
  return h;
}

std::uint64_t held(cudaGraphMemAttributeType what) {
  std::uint64_t bytes = 0;
  OK(cudaDeviceGetGraphMemAttribute(0, what, &bytes));
  return bytes;
}

/// set, then what is left to the program: it frees the memory, in all ways there are.
void freed_outside(cudaStream_t s, int* sum) {
  int* temporary;
  cudaGraph_t graph, freeing;
  cudaGraphExec_t exec, free_exec;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(&temporary, 1 << 20, s));
  set<<<1, 1, 0, s>>>(temporary, 5);
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  cudaGraphNode_t node;
  OK(cudaGraphCreate(&freeing, 0));
  OK(cudaGraphAddMemFreeNode(&node, freeing, nullptr, 0, temporary));
  void* named = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(node, &named));
  CHECK(named == temporary);
  OK(cudaGraphInstantiate(&free_exec, freeing, 0));

  for (int way = 0; way < 3; ++way) {
    OK(cudaGraphLaunch(exec, s));
    FAILS(cudaErrorInvalidValue, cudaGraphLaunch(exec, s));  // The program still has the memory.
    add<<<1, 1, 0, s>>>(sum, temporary);
    CHECK(held(cudaGraphMemAttrUsedMemCurrent) == 1 << 20);
    if (way == 0) OK(cudaFreeAsync(temporary, s));
    if (way == 1) OK(cudaFree(temporary));
    if (way == 2) OK(cudaGraphLaunch(free_exec, s));
    CHECK(held(cudaGraphMemAttrUsedMemCurrent) == 0);
  }
  OK(cudaStreamSynchronize(s));
  CHECK(read(sum) == 15);

  // Memory outlives its graph until it is freed.
  OK(cudaGraphLaunch(exec, s));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamSynchronize(s));
  CHECK(read(temporary) == 5);
  OK(cudaFreeAsync(temporary, s));
  OK(cudaStreamSynchronize(s));
  FAILS(cudaErrorInvalidValue, cudaFree(temporary));
}

void freed_by_the_next_launch(cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams wanted = {};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location = {cudaMemLocationTypeDevice, 0};
  wanted.bytesize = 4096;
  cudaGraphNode_t take;
  OK(cudaGraphAddMemAllocNode(&take, graph, nullptr, 0, &wanted));
  cudaMemAllocNodeParams found;
  OK(cudaGraphMemAllocNodeGetParams(take, &found));
  CHECK(found.dptr == wanted.dptr && found.bytesize == 4096);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(take, &type));
  CHECK(type == cudaGraphNodeTypeMemAlloc);
  OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  OK(cudaGraphLaunch(exec, s));
  OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  CHECK(held(cudaGraphMemAttrReservedMemCurrent) >= 1 << 20);
  OK(cudaDeviceGraphMemTrim(0));
  CHECK(held(cudaGraphMemAttrReservedMemCurrent) == 4096);
  CHECK(held(cudaGraphMemAttrReservedMemHigh) >= 1 << 20);
  OK(cudaFree(found.dptr));
}

/// Nodes read back, and copies to and from variables as nodes.
void read_back(cudaStream_t s, int* sum) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaGraphCreate(&graph, 0));
  int value = 7;
  void* arguments[] = {&sum, &value};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void*)set;
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t first, second, third;
  OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  cudaKernelNodeParams found = {};
  OK(cudaGraphKernelNodeGetParams(first, &found));
  CHECK(found.func == (void*)set && found.blockDim.x == 1);
  CHECK(*(int**)found.kernelParams[0] == sum && *(int*)found.kernelParams[1] == 7);
  value = 70;
  int in = 321, out = 0;
  OK(cudaGraphAddMemcpyNodeToSymbol(&second, graph, &first, 1, variable, &in, 4, 0,
                                    cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNodeFromSymbol(&third, graph, &second, 1, &out, variable, 4, 0,
                                      cudaMemcpyDeviceToHost));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  found.kernelParams = arguments;
  OK(cudaGraphExecKernelNodeSetParams(exec, first, &found));
  OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  CHECK(out == 321 && read(sum) == 70);
}

int main() {
  int* sum;
  OK(cudaMalloc(&sum, 4));
  OK(cudaMemset(sum, 0, 4));
  OK(cudaDeviceSynchronize());
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  freed_outside(s, sum);
  freed_by_the_next_launch(s);
  read_back(s, sum);
  OK(cudaFree(sum));
  std::puts("memory of graphs is right");
}
