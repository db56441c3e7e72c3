// SPDX-License-Identifier: Apache-2.0
// expect: graphs are right
#include <vector>

#include "check.h"

__global__ void add(int* at, int value) {
  atomicAdd(at, value);
}
__global__ void multiply(int* at, int value) {
  *at *= value;
}

static int calls = 0;
void CUDART_CB count(void*) {
  ++calls;
}

int read(int* d) {
  int h = 0;
  OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
  return h;
}

int main() {
  int* d;
  OK(cudaMalloc(&d, 4));
  OK(cudaMemset(d, 0, 4));
  cudaStream_t a, b;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  cudaEvent_t fork, join;
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));

  // Capture with fork and join.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(a, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  add<<<1, 1, 0, a>>>(d, 1);
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  add<<<1, 1, 0, a>>>(d, 2);
  add<<<1, 1, 0, b>>>(d, 3);
  OK(cudaEventRecord(join, b));
  OK(cudaStreamWaitEvent(a, join, 0));
  multiply<<<1, 1, 0, a>>>(d, 10);
  OK(cudaLaunchHostFunc(a, count, nullptr));
  OK(cudaStreamEndCapture(a, &graph));
  CHECK(read(d) == 0);
  size_t nodes = 0, edges = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  CHECK(nodes == 5 && edges == 5);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, a));
  OK(cudaStreamSynchronize(a));
  CHECK(read(d) == 60 && calls == 1);
  OK(cudaGraphLaunch(exec, a));
  OK(cudaGraphLaunch(exec, b));
  OK(cudaDeviceSynchronize());
  CHECK(read(d) == 6660 && calls == 3);

  // Explicit nodes, pageable memory in both directions, a parameter changed afterwards.
  cudaGraph_t made;
  OK(cudaGraphCreate(&made, 0));
  int in = 5, out = 0, value = 3;
  cudaGraphNode_t up, kernel, down, host;
  OK(cudaGraphAddMemcpyNode1D(&up, made, nullptr, 0, d, &in, 4, cudaMemcpyHostToDevice));
  void* arguments[] = {&d, &value};
  cudaKernelNodeParams parameters = {};
  parameters.func = (void*)multiply;
  parameters.gridDim = parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  OK(cudaGraphAddKernelNode(&kernel, made, &up, 1, &parameters));
  OK(cudaGraphAddMemcpyNode1D(&down, made, &kernel, 1, &out, d, 4, cudaMemcpyDeviceToHost));
  cudaHostNodeParams callback = {count, nullptr};
  OK(cudaGraphAddHostNode(&host, made, &down, 1, &callback));
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(kernel, &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaGraphExec_t made_exec;
  OK(cudaGraphInstantiate(&made_exec, made, 0));
  OK(cudaGraphLaunch(made_exec, a));
  OK(cudaStreamSynchronize(a));
  CHECK(out == 15 && calls == 4);
  in = 7;
  OK(cudaGraphLaunch(made_exec, a));
  OK(cudaStreamSynchronize(a));
  CHECK(out == 21);
  value = 100;
  OK(cudaGraphExecKernelNodeSetParams(made_exec, kernel, &parameters));
  OK(cudaGraphLaunch(made_exec, a));
  OK(cudaStreamSynchronize(a));
  CHECK(out == 700);

  // A child graph, a clone, an update.
  cudaGraph_t parent;
  cudaGraphNode_t child, more;
  OK(cudaGraphCreate(&parent, 0));
  OK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, made));
  value = 1;
  OK(cudaGraphAddKernelNode(&more, parent, &child, 1, &parameters));
  cudaGraphExec_t parent_exec;
  OK(cudaGraphInstantiate(&parent_exec, parent, 0));
  OK(cudaGraphLaunch(parent_exec, a));
  OK(cudaStreamSynchronize(a));
  CHECK(out == 21);
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(made_exec, made, &info));
  FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(made_exec, graph, &info));
  CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);

  // What a capture forbids.
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(a));
  FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
  // Other streams may be waited for only by who says that he knows.
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(b));
  FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  OK(cudaStreamSynchronize(b));
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  OK(cudaStreamEndCapture(a, &graph));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, a>>>(d, 1);
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  add<<<1, 1, 0, b>>>(d, 1);
  FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
  OK(cudaStreamSynchronize(a));
  OK(cudaGraphExecDestroy(exec));
  // A stream that joined a capture may go before it ends, if what it did is joined.
  for (const bool joins : {true, false}) {
    cudaStream_t helper;
    OK(cudaStreamCreate(&helper));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(helper, fork, 0));
    add<<<1, 1, 0, helper>>>(d, 1);
    OK(cudaEventRecord(join, helper));
    if (joins) OK(cudaStreamWaitEvent(a, join, 0));
    OK(cudaStreamDestroy(helper));
    if (joins) {
      OK(cudaStreamEndCapture(a, &graph));
    } else {
      FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    }
  }
  // An object of the program lives as long as a graph or what was made of it holds it.
  int ends = 0;
  cudaUserObject_t object;
  OK(cudaUserObjectCreate(
      &object, &ends, [](void* count) { ++*static_cast<int*>(count); }, 1,
      cudaUserObjectNoDestructorSync));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  unsigned long long flags = 0;
  OK(cudaGraphExecGetFlags(exec, &flags));
  CHECK(flags == cudaGraphInstantiateFlagAutoFreeOnLaunch);
  OK(cudaGraphDestroy(graph));
  CHECK(ends == 0);
  OK(cudaGraphLaunch(exec, a));
  OK(cudaGraphExecDestroy(exec));
  CHECK(ends == 1);
  OK(cudaFree(d));
  std::puts("graphs are right");
}
