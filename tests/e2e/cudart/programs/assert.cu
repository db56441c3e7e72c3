// SPDX-License-Identifier: Apache-2.0
// expect: device-side assert triggered
// stderr: Assertion `threadIdx.x < 3` failed
// stderr: assert.cu:
#include <cassert>

#include "check.h"

__global__ void claim() {
  assert(threadIdx.x < 3);
}

int main() {
  claim<<<1, 4>>>();
  std::puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
