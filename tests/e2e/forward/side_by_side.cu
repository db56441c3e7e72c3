// SPDX-License-Identifier: Apache-2.0
// Two kernels make what one exchange sends, a second exchange passes on what the first one brought,
// and all buffers are used in turn: much of it may run side by side, and what may not is in the
// hazards alone.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

constexpr int kPart = 96;

// Takes long on some ranks and in some steps, so that others run ahead.
__global__ void make(const float* in, float* out, int n, int step, int delay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i % n];
  for (int k = 0; k < delay; ++k)
    value += __sinf(value) * 0.0f;
  if (i < n) out[i] = value + step;
}

__global__ void fill(float* in, int n, int rank) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    in[i] = rank * 100 + i % 10;
}

// What was received once is not there a second time.
__global__ void take(float* got, float* sum, int n, int delay) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float value = got[i];
    for (int k = 0; k < delay; ++k)
      value += __sinf(value) * 0.0f;
    sum[i] += value;
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

  const int n = ranks * kPart;
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  float *in, *sum, *far_sum, *keys[2], *values[2], *got[2], *far[2];
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&sum, 2 * n * sizeof(float));
  cudaMalloc(&far_sum, 2 * n * sizeof(float));
  for (int b = 0; b < 2; ++b) {
    cudaMalloc(&keys[b], n * sizeof(float));
    cudaMalloc(&values[b], n * sizeof(float));
    cudaMalloc(&got[b], 2 * n * sizeof(float));
    cudaMalloc(&far[b], 2 * n * sizeof(float));
  }
  cudaMemsetAsync(sum, 0, 2 * n * sizeof(float), stream);
  cudaMemsetAsync(far_sum, 0, 2 * n * sizeof(float), stream);
  fill<<<1, 64, 0, stream>>>(in, n, rank);

  const int steps = 5;
  for (int step = 0; step < steps; ++step) {
    const int b = step % 2;
    const int delay = (rank + step) % 3 * 40;
    make<<<n / 32, 32, 0, stream>>>(in, keys[b], n, step, delay);
    make<<<n / 32, 32, 0, stream>>>(in, values[b], n, 2 * step, 40 - delay / 2);
    ncclGroupStart();
    for (int p = 0; p < ranks; ++p) {
      ncclSend(keys[b] + p * kPart, kPart, ncclFloat, p, comm, stream);
      ncclSend(values[b] + p * kPart, kPart, ncclFloat, p, comm, stream);
      ncclRecv(got[b] + 2 * p * kPart, kPart, ncclFloat, p, comm, stream);
      ncclRecv(got[b] + (2 * p + 1) * kPart, kPart, ncclFloat, p, comm, stream);
    }
    ncclGroupEnd();
    ncclGroupStart();
    ncclSend(got[b], 2 * n, ncclFloat, next, comm, stream);
    ncclRecv(far[b], 2 * n, ncclFloat, previous, comm, stream);
    ncclGroupEnd();
    // In the other order they would end on lanes that the next kernels wait for anyway.
    take<<<1, 64, 0, stream>>>(far[b], far_sum, 2 * n, 10 - delay / 8);
    take<<<1, 64, 0, stream>>>(got[b], sum, 2 * n, delay / 4);
  }

  std::vector<float> host(2 * n), far_host(2 * n);
  cudaMemcpyAsync(host.data(), sum, 2 * n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(far_host.data(), far_sum, 2 * n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  const auto expected = [&](int of, int at) {
    const int p = at / (2 * kPart), kind = at / kPart % 2, i = of * kPart + at % kPart;
    float total = 0;
    for (int step = 0; step < steps; ++step)
      total += static_cast<float>(p * 100 + i % 10 + (kind + 1) * step);
    return total;
  };
  int wrong = 0;
  for (int i = 0; i < 2 * n; ++i)
    wrong += host[i] != expected(rank, i) || far_host[i] != expected(previous, i);
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (int b = 0; b < 2; ++b) {
    for (float* memory : {keys[b], values[b], got[b], far[b]})
      cudaFree(memory);
  }
  for (float* memory : {in, sum, far_sum})
    cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
