// SPDX-License-Identifier: Apache-2.0
// One process per rank under mpirun: the usual start of an NCCL program, then a collective and a
// kernel that reaches its peers.
#include <unistd.h>

#include <mpi.h>

#include "device.h"

namespace {

__global__ void share(ncclDevComm comm, ncclWindow_t window) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), 0};
  for (int peer = threadIdx.x; peer < comm.lsaSize; peer += blockDim.x) {
    static_cast<int*>(ncclGetLsaPointer(window, 0, peer))[comm.lsaRank] = 100 + comm.rank;
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int local = 0;
  int locals = 0;
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &locals);
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  EXPECT(devices == locals);
  CUDA(cudaSetDevice(local));
  char host[64];
  gethostname(host, sizeof host);

  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  Rank me;
  me.rank = rank;
  NCCL(ncclCommInitRank(&me.comm, size, id, rank));
  CUDA(cudaStreamCreate(&me.stream));

  const double start = MPI_Wtime();
  int* data = upload(local, std::vector<int>(1000, rank + 1));
  NCCL(ncclAllReduce(data, data, 1000, ncclInt, ncclSum, me.comm, me.stream));
  CUDA(cudaStreamSynchronize(me.stream));
  EXPECT(download<int>(data, 1000)[999] == size * (size + 1) / 2);

  void* memory = nullptr;
  ncclWindow_t window;
  NCCL(ncclMemAlloc(&memory, 4096));
  NCCL(ncclCommWindowRegister(me.comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = 1;
  ncclDevComm comm;
  NCCL(ncclDevCommCreate(me.comm, &wanted, &comm));
  EXPECT(comm.lsaSize == locals);
  share<<<1, 32, 0, me.stream>>>(comm, window);
  CUDA(cudaStreamSynchronize(me.stream));
  const auto got = download<int>(memory, locals);
  for (int i = 0; i < locals; ++i)
    EXPECT(got[i] == 100 + rank - local + i);

  // Messages between processes, small and large.
  std::vector<int> out(5000, rank);
  std::vector<int> in(5000, -1);
  MPI_Sendrecv(out.data(), 5000, MPI_INT, (rank + 1) % size, 7, in.data(), 5000, MPI_INT,
               (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(in[4999] == (rank + size - 1) % size);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_Wtime() > start);
  if (local == 0) std::printf("%s has ranks %d to %d\n", host, rank, rank + locals - 1);
  NCCL(ncclDevCommDestroy(me.comm, &comm));
  NCCL(ncclCommWindowDeregister(me.comm, window));
  NCCL(ncclCommDestroy(me.comm));
  NCCL(ncclMemFree(memory));
  free_all();
  MPI_Finalize();
  if (rank == 0) std::printf("MPI on %d ranks: ok\n", size);
}
