// SPDX-License-Identifier: Apache-2.0
// Every block writes the same word: the last one wins, and nobody said which that is. With -DTICKET
// the winner is the highest block, whatever the order.
#include <cstdio>

__global__ void write(int* out) {
  if (threadIdx.x != 0) return;
#ifdef TICKET
  atomicMax(out, static_cast<int>(blockIdx.x));
#else
  *reinterpret_cast<volatile int*>(out) = static_cast<int>(blockIdx.x);
#endif
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  write<<<64, 32>>>(out);
  int host = -1;
  cudaMemcpy(&host, out, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("block %d\n", host);
  return 0;
}
