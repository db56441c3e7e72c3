// SPDX-License-Identifier: Apache-2.0
// Every rank has a whole array of contributions; a reduce-scatter leaves each rank the sum of its
// slice, which the next kernel turns into a mean and keeps in half precision.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <memory>

namespace {

struct DeviceDeleter {
  void operator()(void* memory) const { cudaFree(memory); }
};
template <typename T>
using device_ptr = std::unique_ptr<T[], DeviceDeleter>;

template <typename T>
device_ptr<T> device_array(size_t n) {
  void* memory = nullptr;
  cudaMalloc(&memory, n * sizeof(T));
  return device_ptr<T>(static_cast<T*>(memory));
}

__global__ void contribute(float* whole, size_t n, int rank) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) whole[i] = static_cast<float>(i % 31) + static_cast<float>(rank);
}

__global__ void mean(const float* slice, __half* out, size_t n, float inverse) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = __float2half(slice[i] * inverse);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  const size_t slice_size = 1536, total = slice_size * ranks;
  auto whole = device_array<float>(total);
  auto slice = device_array<float>(slice_size);
  auto result = device_array<__half>(slice_size);
  for (int i = 0; i < 5; ++i) {
    contribute<<<(total + 127) / 128, 128, 0, stream>>>(whole.get(), total, rank + i);
    ncclReduceScatter(whole.get(), slice.get(), slice_size, ncclFloat, ncclSum, comm, stream);
    mean<<<(slice_size + 127) / 128, 128, 0, stream>>>(slice.get(), result.get(), slice_size, 1.0f / ranks);
  }
  std::unique_ptr<__half[]> host(new __half[slice_size]);
  cudaMemcpyAsync(host.get(), result.get(), slice_size * sizeof(__half), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (size_t i = 0; i < slice_size; ++i) {
    const float expected = static_cast<float>((rank * slice_size + i) % 31) + 4 + (ranks - 1) / 2.0f;
    wrong += std::fabs(__half2float(host[i]) - expected) > 0.02f;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
