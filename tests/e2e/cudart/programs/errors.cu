// SPDX-License-Identifier: Apache-2.0
// expect: errors follow the rules
// stderr: illegal address
// stderr: errors.cu:
#include <cstring>

#include "check.h"

__global__ void nothing() {}
__global__ void wild(int* p) {
  *p = 1;
}
__global__ void big_block() {}

int main() {
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<1, 2000>>>();
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<0, 1>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<1, 1, 100000>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  void* p;
  FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p, size_t(1) << 45));
  FAILS(cudaErrorInvalidDevice, cudaSetDevice(77));
  FAILS(cudaErrorInvalidValue, cudaMalloc(nullptr, 4));
  CHECK(std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
  CHECK(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  CHECK(std::strcmp(cudaGetErrorString((cudaError_t)5555), "unrecognized error code") == 0);
  OK(cudaDeviceSynchronize());

  // A trap is asynchronous, and it stays.
  wild<<<1, 1>>>((int*)0x10);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaMalloc(&p, 4) == cudaErrorIllegalAddress);
  nothing<<<1, 1>>>();
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  OK(cudaDeviceReset());
  CHECK(cudaGetLastError() == cudaSuccess);
  OK(cudaMalloc(&p, 4));
  nothing<<<1, 1>>>();
  OK(cudaDeviceSynchronize());
  std::puts("errors follow the rules");
}
