// SPDX-License-Identifier: Apache-2.0
// expect: NVIDIA H200 9.0
// expect: attributes are right
#include <cstring>

#include "check.h"

extern __shared__ int dynamic[];
__global__ void __launch_bounds__(256) shared_user(int* out, int n) {
  __shared__ int fixed[64];
  if (threadIdx.x < 64) fixed[threadIdx.x] = threadIdx.x;
  dynamic[n - 1] = 5;
  __syncthreads();
  out[threadIdx.x] = fixed[threadIdx.x % 64] + dynamic[n - 1];
}

int main() {
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  std::printf("%s %d.%d\n", p.name, p.major, p.minor);
  CHECK(p.multiProcessorCount == 132 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
  CHECK(p.sharedMemPerBlock == 49152 && p.sharedMemPerBlockOptin == 232448);
  CHECK(p.maxThreadsPerMultiProcessor == 2048 && p.regsPerMultiprocessor == 65536);
  CHECK(p.cooperativeLaunch == 1 && p.unifiedAddressing == 1 && p.managedMemory == 1);
  int value;
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(value == 132);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  CHECK(value == 9);
  size_t free_bytes, total;
  OK(cudaMemGetInfo(&free_bytes, &total));
  CHECK(total == p.totalGlobalMem && free_bytes <= total);
  int version;
  OK(cudaRuntimeGetVersion(&version));
  CHECK(version == 13000);

  cudaFuncAttributes f;
  OK(cudaFuncGetAttributes(&f, shared_user));
  CHECK(f.sharedSizeBytes == 256 && f.maxThreadsPerBlock == 256 && f.numRegs > 0);
  int blocks = 0, grid = 0, block = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_user, 256, 0));
  CHECK(blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_user, 256, 100000));
  CHECK(blocks == 2);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, shared_user, 0, 0));
  CHECK(block == 256 && grid == 132 * 8);

  int* out;
  OK(cudaMalloc(&out, 1024));
  shared_user<<<1, 256, 65536>>>(out, 65536 / 4);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(shared_user, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  FAILS(cudaErrorInvalidValue,
        cudaFuncSetAttribute(shared_user, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  shared_user<<<1, 256, 65536>>>(out, 65536 / 4);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&value, out + 65, 4, cudaMemcpyDeviceToHost));
  CHECK(value == 6);
  shared_user<<<1, 512>>>(out, 1);
  CHECK(cudaGetLastError() != cudaSuccess);

  size_t limit;
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 24));
  OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit == 1 << 24);
  char bus[32];
  OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  OK(cudaDeviceGetByPCIBusId(&value, bus));
  CHECK(value == 0);
  OK(cudaFree(out));
  std::puts("attributes are right");
}
