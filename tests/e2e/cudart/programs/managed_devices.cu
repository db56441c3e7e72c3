// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// expect: managed variables are the same on both devices
#include "check.h"

__managed__ int counter = 3;
__managed__ int flag;
__device__ int own = 10;

__global__ void bump(int by) {
  counter += by;
  own += by;
}
__global__ void await(int* out) {
  while (*(volatile int*)&flag == 0) {
  }
  *out = flag;
}
__global__ void raise(int value) {
  for (int i = 0; i < 20; ++i)
    __nanosleep(1000);
  *(volatile int*)&flag = value;
}

int main() {
  CHECK(counter == 3);
  counter = 4;
  for (int device = 0; device < 2; ++device) {
    OK(cudaSetDevice(device));
    bump<<<1, 1>>>(device + 1);
    OK(cudaDeviceSynchronize());
    int value = 0;
    OK(cudaMemcpyFromSymbol(&value, own, 4));
    CHECK(value == 11 + device);
    void* address = nullptr;
    OK(cudaGetSymbolAddress(&address, counter));
    CHECK(address == &counter);
  }
  CHECK(counter == 7);

  // One device waits for the other, through a managed variable.
  int* seen;
  OK(cudaSetDevice(1));
  OK(cudaMallocManaged(&seen, 4));
  await<<<1, 1>>>(seen);
  OK(cudaSetDevice(0));
  raise<<<1, 1>>>(99);
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(1));
  OK(cudaDeviceSynchronize());
  CHECK(*seen == 99 && flag == 99);

  // Hints are remembered.
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 1};
  char* m;
  OK(cudaMallocManaged(&m, 8192));
  OK(cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, here));
  OK(cudaMemAdvise(m, 8192, cudaMemAdviseSetPreferredLocation, here));
  OK(cudaMemPrefetchAsync(m, 8192, here, 0, nullptr));
  int value = -1;
  OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, m, 4096));
  CHECK(value == 1);
  OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, m, 8192));
  CHECK(value == 0);
  OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, m, 8192));
  CHECK(value == 1);
  OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, m, 8192));
  CHECK(value == 1);
  OK(cudaFree(seen));
  OK(cudaFree(m));
  std::puts("managed variables are the same on both devices");
}
