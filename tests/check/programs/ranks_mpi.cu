// SPDX-License-Identifier: Apache-2.0
// Ranks as processes, started by mpirun: what MPI orders, and what it does not.
//
// CASE peer_store_before_mpi_barrier none --ranks 2
// CASE peer_store_without_mpi_barrier unordered-read@read_back/peer_store --ranks 2
// CASE message_orders none --ranks 2
// CASE message_sent_too_early unordered-read@read_back/peer_store --ranks 2
// CASE collectives_in_order none --ranks 2
// CASE collectives_out_of_order collective-mismatch --ranks 2
// CASE collective_of_one_rank collective-mismatch --ranks 2
// CASE mpi_barrier_of_one_rank deadlock --ranks 2
// CASE put_and_wait none --ranks 2 --topology ib2x1
// CASE put_and_read unordered-read@read_back/put --ranks 2 --topology ib2x1
// CASE one_rank_leaks leak@leaked --ranks 2
// CASE no_rank_leaks none --ranks 2
#include <cstring>

#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include "case.h"

constexpr int kCount = 256;
constexpr size_t kBytes = 4 * kCount * sizeof(int);

__global__ void store(ncclWindow_t window, int peer) {
  static_cast<int*>(ncclGetLsaPointer(window, 0, peer))[threadIdx.x] = 1;  // :peer_store
}

__global__ void load(ncclWindow_t window, int* out) {
  out[threadIdx.x] = static_cast<int*>(ncclGetLocalPointer(window, 0))[threadIdx.x];  // :read_back
}

__global__ void put(ncclDevComm comm, ncclWindow_t window) {
  ncclGin gin{comm, 0};
  gin.put(ncclTeamWorld(comm), 1 - comm.rank, window, 0, window, kBytes / 2, 1024,
          ncclGin_SignalInc{0},  // :put
          ncclGin_None{}, ncclCoopCta());
  gin.flush(ncclCoopCta());
}

__global__ void wait(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 0, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Case run(argc, argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  void* memory = nullptr;
  int* out = nullptr;
  ncclMemAlloc(&memory, kBytes);
  cudaMemset(memory, 0, kBytes);
  cudaMalloc(&out, kBytes);
  cudaMemset(out, 0, kBytes);
  cudaDeviceSynchronize();
  ncclWindow_t window;
  ncclCommWindowRegister(comm, memory, kBytes, &window, NCCL_WIN_COLL_SYMMETRIC);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  MPI_Barrier(MPI_COMM_WORLD);
  const int peer = 1 - rank;

  if (run.is("peer_store_before_mpi_barrier") || run.is("peer_store_without_mpi_barrier")) {
    store<<<1, kCount, 0, stream>>>(window, peer);
    cudaStreamSynchronize(stream);
    if (run.is("peer_store_before_mpi_barrier")) MPI_Barrier(MPI_COMM_WORLD);
    load<<<1, kCount, 0, stream>>>(window, out);
    cudaStreamSynchronize(stream);
  }
  if (run.is("message_orders") || run.is("message_sent_too_early")) {
    int token = 1;
    if (rank == 0) {
      store<<<1, kCount, 0, stream>>>(window, peer);
      if (run.is("message_orders")) cudaStreamSynchronize(stream);
      MPI_Send(&token, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
      cudaStreamSynchronize(stream);
    } else {
      MPI_Recv(&token, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      load<<<1, kCount, 0, stream>>>(window, out);
      cudaStreamSynchronize(stream);
    }
  }
  const auto reduce = [&] { ncclAllReduce(out, out, kCount, ncclInt, ncclSum, comm, stream); };
  const auto spread = [&] { ncclBroadcast(out, out, kCount, ncclInt, 0, comm, stream); };
  if (run.is("collectives_in_order") || run.is("collectives_out_of_order")) {
    if (run.is("collectives_out_of_order") && rank == 1) {
      spread();
      reduce();
    } else {
      reduce();
      spread();
    }
    cudaStreamSynchronize(stream);
  }
  if (run.is("collective_of_one_rank")) {
    if (rank == 0) reduce();
    cudaStreamSynchronize(stream);
  }
  if (run.is("mpi_barrier_of_one_rank")) {
    if (rank == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      int token = 0;
      MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (run.is("put_and_wait") || run.is("put_and_read")) {
    ncclDevCommRequirements wanted;
    std::memset(&wanted, 0, sizeof wanted);
    wanted.ginSignalCount = 1;
    ncclDevComm dev;
    ncclDevCommCreate(comm, &wanted, &dev);
    put<<<1, 64, 0, stream>>>(dev, window);
    if (run.is("put_and_wait")) wait<<<1, 64, 0, stream>>>(dev);
    load<<<1, kCount, 0, stream>>>(window, out);
    cudaStreamSynchronize(stream);
    MPI_Barrier(MPI_COMM_WORLD);
    ncclDevCommDestroy(comm, &dev);
  }
  if (run.is("one_rank_leaks") || run.is("no_rank_leaks")) {
    void* extra = nullptr;
    cudaMalloc(&extra, 1000);  // :leaked
    if (rank == 0 || run.is("no_rank_leaks")) cudaFree(extra);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ncclCommWindowDeregister(comm, window);
  ncclCommDestroy(comm);
  ncclMemFree(memory);
  cudaFree(out);
  cudaStreamDestroy(stream);
  MPI_Finalize();
  return run.end();
}
