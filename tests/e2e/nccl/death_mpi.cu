// SPDX-License-Identifier: Apache-2.0
// Rank 1 dies after the communicator is made; the others must hear of it, by name.
#include <unistd.h>

#include <cstring>

#include <mpi.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  CUDA(cudaSetDevice(rank));
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  if (rank == 1) _exit(3);
  int* data = upload(rank, std::vector<int>(16));
  ncclResult_t state = ncclAllReduce(data, data, 16, ncclInt, ncclSum, comm, nullptr);
  CUDA(cudaDeviceSynchronize());
  if (state == ncclSuccess) NCCL(ncclCommGetAsyncError(comm, &state));
  EXPECT(state == ncclRemoteError);
  EXPECT(std::strstr(ncclGetLastError(comm), "rank 1 is gone") != nullptr);
  std::printf("rank %d heard of it\n", rank);
  std::fflush(stdout);
  _exit(0);  // MPI cannot be finalised without rank 1.
}
