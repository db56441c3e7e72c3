// SPDX-License-Identifier: Apache-2.0
// Messages of odd sizes whose data kernels make: vectors lie across their borders, some go to the
// rank itself, and two to each peer. One kernel stores some elements twice and others not at all,
// and there are rounds without a kernel: what is sent then was there before. Some rounds a kernel
// before can open.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

constexpr int kPart = 37;  // elements of a message: no multiple of a vector

__global__ void make_vectors(const float* in, float* out, int n, int step) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 4 <= n) {
    *reinterpret_cast<float4*>(&out[i]) =
        make_float4(in[i] + step, in[i + 1] + step, in[i + 2] + step, in[i + 3] + step);
    return;
  }
  for (int k = i; k < n; ++k)
    out[k] = in[k] + step;
}

// Stores the first ones twice and leaves every seventh as it was.
__global__ void make_some(const float* in, float* out, int n, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || i % 7 == 6) return;
  if (i < 5) out[i] = 0;
  out[i] = in[i] * 2 + step;
}

__global__ void fill(float* in, int n, int rank) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    in[i] = rank * 1000 + i % 100;
}

// What was received once is not there a second time.
__global__ void take(float* got, float* sum, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum[i] += got[i];
    got[i] = -1;
  }
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

  const int n = 2 * ranks * kPart;
  float *in, *out, *got, *sum;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&got, (n + rank) * sizeof(float));
  cudaMalloc(&sum, n * sizeof(float));
  cudaMemsetAsync(out, 0, n * sizeof(float), stream);
  cudaMemsetAsync(sum, 0, n * sizeof(float), stream);
  fill<<<1, 64, 0, stream>>>(in, n, rank);

  const int steps = 6;
  for (int step = 0; step < steps; ++step) {
    if (step % 3 == 0) {
      fill<<<1, 64, 0, stream>>>(in, n, rank);
      make_vectors<<<3, 32, 0, stream>>>(in, out, n, step);
    } else if (step % 3 == 1) {
      make_some<<<5, 64, 0, stream>>>(in, out, n, step);
    }
    ncclGroupStart();
    for (int p = 0; p < ranks; ++p) {
      for (int k = 0; k < 2; ++k) {
        const int peer = (rank + p) % ranks;
        ncclSend(out + (2 * peer + k) * kPart, kPart, ncclFloat, peer, comm, stream);
        ncclRecv(got + (2 * peer + k) * kPart, kPart, ncclFloat, peer, comm, stream);
      }
    }
    ncclGroupEnd();
    take<<<1, 64, 0, stream>>>(got, sum, n);
  }

  std::vector<float> host(n), expected(n, 0.0f);
  cudaMemcpyAsync(host.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  for (int p = 0; p < ranks; ++p) {
    std::vector<float> made(n, 0.0f);  // what rank p has in `out`
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < n; ++i) {
        const float value = static_cast<float>(p * 1000 + i % 100);
        if (step % 3 == 0) made[i] = value + static_cast<float>(step);
        if (step % 3 == 1 && i % 7 != 6) made[i] = value * 2 + static_cast<float>(step);
      }
      for (int i = 0; i < 2 * kPart; ++i)
        expected[2 * p * kPart + i] += made[2 * rank * kPart + i];
    }
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += host[i] != expected[i];
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {in, out, got, sum})
    cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
