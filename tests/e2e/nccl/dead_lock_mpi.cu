// SPDX-License-Identifier: Apache-2.0
// A circle of waits through everything: rank 0 waits in MPI for rank 1, which waits for its stream,
// which waits for rank 2's part of a collective, which waits in MPI for somebody to take a large
// message, which rank 0 would only do afterwards. mistakes.py knows what has to be said about it.
#include <mpi.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, size, id, rank));
  int* data = nullptr;
  CUDA(cudaMalloc(&data, 64));
  std::vector<int> large(5000);
  if (rank == 0) MPI_Recv(large.data(), 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 2) MPI_Send(large.data(), 5000, MPI_INT, 0, 4, MPI_COMM_WORLD);
  NCCL(ncclAllReduce(data, data, 4, ncclInt32, ncclSum, comm, nullptr));
  CUDA(cudaStreamSynchronize(nullptr));
  if (rank == 1) MPI_Send(large.data(), 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(large.data(), 5000, MPI_INT, 2, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
