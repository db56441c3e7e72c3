// SPDX-License-Identifier: Apache-2.0
// expect: symbols are right
#include "check.h"

__device__ int counter = 7;
__constant__ float coefficients[4];
__device__ int array[100];
__global__ void use(float* out) {
  atomicAdd(&counter, 1);
  out[threadIdx.x] = coefficients[threadIdx.x];
  array[threadIdx.x] = threadIdx.x + 1000;
}

int main() {
  float h[4] = {1.5f, 2.5f, 3.5f, 4.5f}, back[4];
  OK(cudaMemcpyToSymbol(coefficients, h, sizeof h));
  float* out;
  OK(cudaMalloc(&out, sizeof h));
  use<<<1, 4>>>(out);
  OK(cudaMemcpy(back, out, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i)
    CHECK(back[i] == h[i]);
  int value = 0;
  OK(cudaMemcpyFromSymbol(&value, counter, 4));
  CHECK(value == 11);
  OK(cudaMemcpyFromSymbol(&value, array, 4, 3 * 4));
  CHECK(value == 1003);
  void* address;
  size_t size;
  OK(cudaGetSymbolAddress(&address, array));
  OK(cudaGetSymbolSize(&size, array));
  CHECK(size == 400);
  OK(cudaMemcpy(&value, (int*)address + 2, 4, cudaMemcpyDeviceToHost));
  CHECK(value == 1002);
  FAILS(cudaErrorInvalidValue, cudaMemcpyToSymbol(coefficients, h, sizeof h, 8));
  int not_a_symbol;
  FAILS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&not_a_symbol, h, 4));
  OK(cudaFree(out));
  std::puts("symbols are right");
}
