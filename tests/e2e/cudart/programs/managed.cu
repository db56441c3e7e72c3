// SPDX-License-Identifier: Apache-2.0
// expect: managed and mapped memory are right
#include "check.h"

__managed__ int counter = 3;
__managed__ float table[4] = {1, 2, 3, 4};
__global__ void bump(int* p) {
  counter += 10;
  *p += counter;
  table[threadIdx.x] *= 2;
}
__global__ void increment(int* p) {
  atomicAdd(p, 1);
}

int main() {
  CHECK(counter == 3);
  counter = 5;
  int* m;
  OK(cudaMallocManaged(&m, 4096));
  *m = 100;
  bump<<<1, 1>>>(m);
  OK(cudaDeviceSynchronize());
  CHECK(counter == 15 && *m == 115 && table[0] == 2 && table[1] == 2);
  int *host, *device;
  OK(cudaHostAlloc(&host, 4, cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(&device, host, 0));
  *host = 0;
  increment<<<4, 64>>>(device);
  OK(cudaDeviceSynchronize());
  CHECK(*host == 256);
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, m));
  CHECK(attributes.type == cudaMemoryTypeManaged);
  OK(cudaPointerGetAttributes(&attributes, host));
  CHECK(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == device);
  int local;
  OK(cudaPointerGetAttributes(&attributes, &local));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  int* d;
  OK(cudaMalloc(&d, 4));
  OK(cudaPointerGetAttributes(&attributes, d));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  OK(cudaFree(d));
  OK(cudaFree(m));
  OK(cudaFreeHost(host));
  std::puts("managed and mapped memory are right");
}
