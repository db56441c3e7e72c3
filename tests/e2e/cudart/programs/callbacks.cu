// SPDX-License-Identifier: Apache-2.0
// expect: 1 2 3 4
// expect: callbacks are right
#include "check.h"

__global__ void put(volatile int* at, int value) {
  *at = value;
}

static int refused = 0;
void CUDART_CB show(void* at) {
  std::printf("%d ", *(int*)at);
  int count;
  void* p;
  (void)count;
  refused = cudaMalloc(&p, 4);
}
void CUDART_CB stream_show(cudaStream_t, cudaError_t status, void* at) {
  CHECK(status == cudaSuccess);
  std::printf("%d ", *(int*)at);
}

int main() {
  int* pinned;
  OK(cudaHostAlloc(&pinned, 16, cudaHostAllocMapped));
  cudaStream_t s;
  OK(cudaStreamCreate(&s));
  put<<<1, 1, 0, s>>>(pinned, 1);
  OK(cudaLaunchHostFunc(s, show, pinned));
  put<<<1, 1, 0, s>>>(pinned + 1, 2);
  OK(cudaStreamAddCallback(s, stream_show, pinned + 1, 0));
  put<<<1, 1, 0, s>>>(pinned + 2, 3);
  OK(cudaLaunchHostFunc(s, show, pinned + 2));
  OK(cudaStreamSynchronize(s));
  CHECK(refused == cudaErrorNotPermitted);
  OK(cudaFreeHost(pinned));
  std::puts("4");
  std::puts("callbacks are right");
}
