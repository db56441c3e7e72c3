// SPDX-License-Identifier: Apache-2.0
// A wild store gives cudaErrorIllegalAddress, and the context stays broken.
#include "check.h"

__global__ void wild(int* p) { p[threadIdx.x] = 1; }

int main() {
  wild<<<1, 32>>>(reinterpret_cast<int*>(0x10));
  const cudaError_t first = cudaDeviceSynchronize();
  const cudaError_t later = cudaDeviceSynchronize();
  wild<<<1, 2000>>>(nullptr);
  return verdict(first == cudaErrorIllegalAddress && later == cudaErrorIllegalAddress, "sticky illegal address");
}
