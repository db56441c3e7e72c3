// SPDX-License-Identifier: Apache-2.0
// A copy on one stream, a kernel that fills its source on another: right only with the event
// between them (-DWAIT). Prints a time, which no comparison may trip over.
#include <cstdio>
#include <vector>

__global__ void fill(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = 3 * i + 1;
}

int main() {
  const int count = 1 << 16;
  int* data = nullptr;
  cudaMalloc(&data, count * sizeof(int));
  cudaMemset(data, 0, count * sizeof(int));
  cudaDeviceSynchronize();
  cudaStream_t first;
  cudaStream_t second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEvent_t filled;
  cudaEvent_t done;
  cudaEventCreate(&filled);
  cudaEventCreate(&done);
  int* host = nullptr;
  cudaMallocHost(&host, count * sizeof(int));
  fill<<<(count + 255) / 256, 256, 0, first>>>(data, count);
  cudaEventRecord(filled, first);
#ifdef WAIT
  cudaStreamWaitEvent(second, filled, 0);
#else
  // Long enough in the plain schedule.
  for (int i = 0; i < 50; ++i)
    cudaEventRecord(done, second);
#endif
  cudaMemcpyAsync(host, data, count * sizeof(int), cudaMemcpyDeviceToHost, second);
  cudaEventRecord(done, second);
  cudaDeviceSynchronize();
  float ms = 0;
  cudaEventElapsedTime(&ms, filled, done);
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    wrong += host[i] != 3 * i + 1;
  std::printf("copied after %.6f ms\n", ms);
  std::printf("sum: %s\n", wrong == 0 ? "right" : "wrong");
  return 0;
}
