// SPDX-License-Identifier: Apache-2.0
// Collectives in which all ranks wait for all, and others in which data goes one way, take turns on
// one communicator: roots change, a ring shifts, and one rank computes longer than the others.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

__global__ void add(int* to, const int* from, int n, int factor, int repeat) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = to[i];
  for (int k = 0; k < repeat; ++k) sum = (sum + factor * from[i]) % 100003;
  to[i] = sum;
}

// What the ranks hold after a turn: the same on the host.
static void turn(std::vector<std::vector<int>>& held, int root) {
  const int ranks = (int)held.size(), n = (int)held[0].size();
  std::vector<std::vector<int>> got(ranks, std::vector<int>(n));
  for (int i = 0; i < n; ++i) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) sum += held[r][i];
    for (int r = 0; r < ranks; ++r) held[r][i] = (held[r][i] + sum) % 100003;
    for (int r = 0; r < ranks; ++r) got[r][i] = held[(r + ranks - 1) % ranks][i];
    for (int r = 0; r < ranks; ++r) held[r][i] = (held[r][i] + 3 * got[r][i]) % 100003;
    const int sent = held[root][i];
    for (int r = 0; r < ranks; ++r) held[r][i] = (held[r][i] + 5 * sent) % 100003;
    int most = 0;
    for (int r = 0; r < ranks; ++r) most = held[r][i] > most ? held[r][i] : most;
    held[root][i] = (held[root][i] + 7 * most) % 100003;
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
  const int n = 900, blocks = (n + 127) / 128, turns = 5;
  int *held, *got;
  cudaMalloc(&held, n * sizeof(int));
  cudaMalloc(&got, n * sizeof(int));
  std::vector<std::vector<int>> expected(ranks, std::vector<int>(n));
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < n; ++i) expected[r][i] = (i * (r + 2)) % 1000;
  cudaMemcpyAsync(held, expected[rank].data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);
  for (int t = 0; t < turns; ++t) {
    const int root = t % ranks, slow = rank == (t + 1) % ranks ? 40 : 1;
    ncclAllReduce(held, got, n, ncclInt, ncclSum, comm, stream);
    add<<<blocks, 128, 0, stream>>>(held, got, n, 1, 1);
    add<<<blocks, 128, 0, stream>>>(held, got, n, 0, slow);
    ncclGroupStart();
    ncclSend(held, n, ncclInt, (rank + 1) % ranks, comm, stream);
    ncclRecv(got, n, ncclInt, (rank + ranks - 1) % ranks, comm, stream);
    ncclGroupEnd();
    add<<<blocks, 128, 0, stream>>>(held, got, n, 3, 1);
    ncclBroadcast(held, got, n, ncclInt, root, comm, stream);
    add<<<blocks, 128, 0, stream>>>(held, got, n, 5, 1);
    ncclReduce(held, got, n, ncclInt, ncclMax, root, comm, stream);
    if (rank == root) add<<<blocks, 128, 0, stream>>>(held, got, n, 7, 1);
    turn(expected, root);
  }
  std::vector<int> host(n);
  cudaMemcpyAsync(host.data(), held, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  const bool right = host == expected[rank];
  cudaFree(held);
  cudaFree(got);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  std::printf("%s\n", right ? "PASS" : "FAIL");
  MPI_Finalize();
  return right ? 0 : 1;
}
