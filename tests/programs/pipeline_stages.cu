// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism: rank r gets activations from r - 1, applies its layer and sends them to
// r + 1. Micro-batches follow each other; data flows one way.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void embed(float* activations, int n, int batch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) activations[i] = static_cast<float>((i + batch * 3) % 17) * 0.1f;
}

__global__ void layer(const float* in, float* out, int n, float weight) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(0.0f, in[i] * weight + 0.01f);
}

__global__ void collect(const float* activations, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += activations[i];
}

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

  const int n = 4096, batches = 6;
  const bool first = rank == 0, last = rank == ranks - 1;
  float *in, *out, *total;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&total, n * sizeof(float));
  cudaMemsetAsync(total, 0, n * sizeof(float), stream);
  const float weight = 0.9f + 0.05f * static_cast<float>(rank);
  for (int batch = 0; batch < batches; ++batch) {
    if (first)
      embed<<<n / 256, 256, 0, stream>>>(in, n, batch);
    else
      ncclRecv(in, n, ncclFloat, rank - 1, comm, stream);
    layer<<<n / 256, 256, 0, stream>>>(in, out, n, weight);
    if (!last)
      ncclSend(out, n, ncclFloat, rank + 1, comm, stream);
    else
      collect<<<n / 256, 256, 0, stream>>>(out, total, n);
  }
  std::vector<float> host(n);
  cudaMemcpyAsync(host.data(), total, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int wrong = 0;
  for (int i = 0; last && i < n; ++i) {
    float expected = 0;
    for (int batch = 0; batch < batches; ++batch) {
      float a = static_cast<float>((i + batch * 3) % 17) * 0.1f;
      for (int r = 0; r < ranks; ++r) a = std::fmax(0.0f, a * (0.9f + 0.05f * static_cast<float>(r)) + 0.01f);
      expected += a;
    }
    wrong += std::fabs(host[i] - expected) > 1e-4f;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {in, out, total}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
