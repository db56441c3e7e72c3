// SPDX-License-Identifier: Apache-2.0
// Rows of different numbers for each pair of ranks, known on the host: grouped sends and receives
// with counts and offsets from vectors, as MPI_Alltoallv has them. Some counts are zero.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <numeric>
#include <vector>

static int rows_between(int from, int to) { return (from * 3 + to * 5) % 4 * 8; }

__global__ void label(float* rows, int count, int width, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * width) rows[i] = static_cast<float>(rank * 100000 + i);
}

__global__ void accumulate(const float* rows, float* sums, int count, int width) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= width) return;
  float sum = 0;
  for (int row = 0; row < count; ++row) sum += rows[row * width + column] * 0.001f;
  sums[column] = sum;
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

  const int width = 128;
  std::vector<int> send_counts(ranks), receive_counts(ranks), send_at(ranks + 1), receive_at(ranks + 1);
  for (int peer = 0; peer < ranks; ++peer) {
    send_counts[peer] = rows_between(rank, peer);
    receive_counts[peer] = rows_between(peer, rank);
  }
  std::partial_sum(send_counts.begin(), send_counts.end(), send_at.begin() + 1);
  std::partial_sum(receive_counts.begin(), receive_counts.end(), receive_at.begin() + 1);
  const int sent = send_at[ranks], received = receive_at[ranks];

  float *outgoing, *incoming, *sums;
  cudaMalloc(&outgoing, sizeof(float) * width * (sent + 1));
  cudaMalloc(&incoming, sizeof(float) * width * (received + 1));
  cudaMalloc(&sums, sizeof(float) * width);
  for (int i = 0; i < 3; ++i) {
    label<<<sent * width / 128 + 1, 128, 0, stream>>>(outgoing, sent, width, rank);
    ncclGroupStart();
    for (int peer = 0; peer < ranks; ++peer) {
      if (send_counts[peer] > 0)
        ncclSend(outgoing + send_at[peer] * width, static_cast<size_t>(send_counts[peer]) * width, ncclFloat, peer, comm, stream);
      if (receive_counts[peer] > 0)
        ncclRecv(incoming + receive_at[peer] * width, static_cast<size_t>(receive_counts[peer]) * width, ncclFloat, peer, comm, stream);
    }
    ncclGroupEnd();
    accumulate<<<1, width, 0, stream>>>(incoming, sums, received, width);
  }
  std::vector<float> host(width);
  cudaMemcpyAsync(host.data(), sums, sizeof(float) * width, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  int wrong = 0;
  for (int column = 0; column < width; ++column) {
    double expected = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      int first = 0;
      for (int p = 0; p < rank; ++p) first += rows_between(peer, p);
      for (int row = first; row < first + receive_counts[peer]; ++row) expected += (peer * 100000 + row * width + column) * 0.001;
    }
    const double difference = host[column] - expected;
    wrong += difference * difference > 1e-6 * expected * expected + 1e-6;
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {outgoing, incoming, sums}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
