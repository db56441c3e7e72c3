// SPDX-License-Identifier: Apache-2.0
// Something to run.
#include <cstdio>

__global__ void add(int* sum, int n) { atomicAdd(sum, n); }

int main() {
  int* sum = nullptr;
  int host = 0;
  cudaMalloc(&sum, sizeof host);
  cudaMemset(sum, 0, sizeof host);
  add<<<2, 32>>>(sum, 3);
  cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(sum);
  std::printf("%s %d\n", host == 192 ? "PASS" : "FAIL", host);
  return host != 192;
}
