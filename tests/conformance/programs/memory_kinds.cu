// SPDX-License-Identifier: Apache-2.0
// Constant, managed, mapped, pitched and symbol memory; dynamic shared memory above 48 kB.
#include <cstring>

#include "check.h"

__constant__ int offsets[4];
__device__ int counter = 5;
__managed__ int managed_value = 3;

__global__ void use(int* mapped, const int* pitched, std::size_t pitch, int* out) {
  extern __shared__ int scratch[];
  scratch[threadIdx.x * 256] = threadIdx.x;
  __syncthreads();
  const int t = threadIdx.x;
  const int* row = reinterpret_cast<const int*>(reinterpret_cast<const char*>(pitched) + (t % 4) * pitch);
  out[t] = scratch[(63 - t) * 256] + offsets[t % 4] + row[t % 8] + mapped[t];
  mapped[t] = -t;
  if (t == 0) managed_value += atomicAdd(&counter, 1);
}

int main() {
  const int values[4] = {10, 20, 30, 40};
  CHECK(cudaMemcpyToSymbol(offsets, values, sizeof(values)));
  int* mapped = nullptr;
  CHECK(cudaHostAlloc(&mapped, 64 * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < 64; ++i) mapped[i] = i * 1000;
  int* device_view = nullptr;
  CHECK(cudaHostGetDevicePointer(&device_view, mapped, 0));
  int host_rows[4][8];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 8; ++c) host_rows[r][c] = r * 100 + c;
  int* pitched = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&pitched, &pitch, sizeof(host_rows[0]), 4));
  CHECK(cudaMemcpy2D(pitched, pitch, host_rows, sizeof(host_rows[0]), sizeof(host_rows[0]), 4, cudaMemcpyHostToDevice));
  Buffer<int> out(64);
  CHECK(cudaFuncSetAttribute(use, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  use<<<1, 64, 65536>>>(device_view, pitched, pitch, out.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(64);
  for (int t = 0; t < 64; ++t) expected[t] = 63 - t + values[t % 4] + host_rows[t % 4][t % 8] + t * 1000;
  int now = 0;
  CHECK(cudaMemcpyFromSymbol(&now, counter, sizeof(now)));
  const bool side = now == 6 && managed_value == 8 && mapped[9] == -9;
  return compare(out.host(), expected, 0) + verdict(side, "symbols, managed and mapped memory");
}
