// SPDX-License-Identifier: Apache-2.0
// A failing device assert is a sticky error, with a message on stderr.
#include <cassert>

#include "check.h"

__global__ void doubt(int n) { assert(n < 3); }

int main() {
  doubt<<<1, 4>>>(2);
  CHECK(cudaDeviceSynchronize());
  doubt<<<1, 4>>>(4);
  const cudaError_t first = cudaDeviceSynchronize();
  void* p = nullptr;
  const cudaError_t later = cudaMalloc(&p, 16);
  return verdict(first == cudaErrorAssert && later == cudaErrorAssert, "sticky assert");
}
