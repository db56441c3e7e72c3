// SPDX-License-Identifier: Apache-2.0
// expect: pools are right
#include <cstdint>

#include "check.h"

__global__ void put(int* at, int value) {
  *at = value;
}

int main() {
  cudaStream_t s;
  OK(cudaStreamCreate(&s));
  int *a, *b, h = 0;
  OK(cudaMallocAsync(&a, 1 << 20, s));
  put<<<1, 1, 0, s>>>(a, 9);
  OK(cudaMemcpyAsync(&h, a, 4, cudaMemcpyDeviceToHost, s));
  OK(cudaFreeAsync(a, s));
  OK(cudaStreamSynchronize(s));
  CHECK(h == 9);
  cudaMemPool_t pool, own;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 30, value = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
  CHECK(value == threshold);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  OK(cudaMemPoolCreate(&own, &properties));
  OK(cudaMallocFromPoolAsync(&b, 4096, own, s));
  OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &value));
  CHECK(value == 4096);
  OK(cudaFreeAsync(b, s));
  OK(cudaStreamSynchronize(s));
  OK(cudaMemPoolDestroy(own));
  std::puts("pools are right");
}
