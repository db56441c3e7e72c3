// SPDX-License-Identifier: Apache-2.0
// One process per rank under mpirun, each with one communicator.
#pragma once

#include <mpi.h>

#include "device.h"

/// MPI's rank has the device of its number.
inline Rank rank_of_mpi(int argc, char** argv, int* ranks) {
  MPI_Init(&argc, &argv);
  Rank me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  CUDA(cudaSetDevice(me.rank % devices));
  ncclUniqueId id;
  if (me.rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  NCCL(ncclCommInitRank(&me.comm, *ranks, id, me.rank));
  CUDA(cudaStreamCreate(&me.stream));
  return me;
}

struct OwnWindow {
  void* memory = nullptr;
  ncclWindow_t window = nullptr;
};

inline OwnWindow make_window(const Rank& me, size_t bytes) {
  OwnWindow made;
  NCCL(ncclMemAlloc(&made.memory, bytes));
  CUDA(cudaMemset(made.memory, 0, bytes));
  CUDA(cudaDeviceSynchronize());
  NCCL(ncclCommWindowRegister(me.comm, made.memory, bytes, &made.window, NCCL_WIN_COLL_SYMMETRIC));
  return made;
}

inline void free_window(const Rank& me, const OwnWindow& made) {
  NCCL(ncclCommWindowDeregister(me.comm, made.window));
  NCCL(ncclMemFree(made.memory));
}
