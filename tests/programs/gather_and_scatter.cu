// SPDX-License-Identifier: Apache-2.0
// Rank 0 deals parts of an array to all ranks and collects the results: scatter and gather made of
// grouped sends and receives, where rank 0 has many and the others have one.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

__global__ void make_jobs(long long* jobs, int n, int round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) jobs[i] = static_cast<long long>(i) * 1000003 + round;
}

__global__ void collatz(const long long* jobs, long long* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = jobs[i] % 500 + 1, count = 0;
  for (; x != 1 && count < 150; ++count) x = x % 2 ? 3 * x + 1 : x / 2;
  steps[i] = count;
}

__global__ void add_up(const long long* steps, long long* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += steps[i];
}

static void scatter(const long long* from, long long* to, int n, int rank, int ranks, ncclComm_t comm, cudaStream_t s) {
  ncclGroupStart();
  if (rank == 0)
    for (int r = 0; r < ranks; ++r) ncclSend(from + r * n, n, ncclInt64, r, comm, s);
  ncclRecv(to, n, ncclInt64, 0, comm, s);
  ncclGroupEnd();
}

static void gather(const long long* from, long long* to, int n, int rank, int ranks, ncclComm_t comm, cudaStream_t s) {
  ncclGroupStart();
  ncclSend(from, n, ncclInt64, 0, comm, s);
  if (rank == 0)
    for (int r = 0; r < ranks; ++r) ncclRecv(to + r * n, n, ncclInt64, r, comm, s);
  ncclGroupEnd();
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

  const int n = 512, all = n * ranks, rounds = 3;
  long long *jobs = nullptr, *results = nullptr, *total = nullptr, *mine, *steps;
  if (rank == 0) {
    cudaMalloc(&jobs, all * sizeof(long long));
    cudaMalloc(&results, all * sizeof(long long));
    cudaMalloc(&total, all * sizeof(long long));
    cudaMemsetAsync(total, 0, all * sizeof(long long), stream);
  }
  cudaMalloc(&mine, n * sizeof(long long));
  cudaMalloc(&steps, n * sizeof(long long));
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) make_jobs<<<all / 128, 128, 0, stream>>>(jobs, all, round);
    scatter(jobs, mine, n, rank, ranks, comm, stream);
    collatz<<<n / 128, 128, 0, stream>>>(mine, steps, n);
    gather(steps, results, n, rank, ranks, comm, stream);
    if (rank == 0) add_up<<<all / 128, 128, 0, stream>>>(results, total, all);
  }
  int wrong = 0;
  if (rank == 0) {
    std::vector<long long> host(all);
    cudaMemcpyAsync(host.data(), total, all * sizeof(long long), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < all; ++i) {
      long long expected = 0;
      for (int round = 0; round < rounds; ++round) {
        long long x = (static_cast<long long>(i) * 1000003 + round) % 500 + 1;
        for (int count = 0; x != 1 && count < 150; ++count, ++expected) x = x % 2 ? 3 * x + 1 : x / 2;
      }
      wrong += host[i] != expected;
    }
  }
  cudaStreamSynchronize(stream);
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (long long* memory : {jobs, results, total, mine, steps}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
