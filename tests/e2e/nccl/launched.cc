// SPDX-License-Identifier: Apache-2.0
// A program of one device per process as others write it: the host compiler builds it, launched.py
// links it in several ways and starts it in several.
#include <mpi.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  int local = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  CUDA(cudaSetDevice(local));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm = nullptr;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  float* data = nullptr;
  float value = static_cast<float>(rank + 1);
  CUDA(cudaMalloc(&data, sizeof value));
  CUDA(cudaMemcpy(data, &value, sizeof value, cudaMemcpyHostToDevice));
  NCCL(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, nullptr));
  CUDA(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == static_cast<float>(ranks * (ranks + 1) / 2));
  NCCL(ncclCommDestroy(comm));
  if (rank == 0) std::printf("launched on %d ranks: ok\n", ranks);
  MPI_Finalize();
}
