// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, through all that they share: collectives, sends, splits, windows that
// come and go, load/store, puts, and memory that one rank makes while others wait in a kernel.
// With an argument rank 1 does wrong: "dies", "leaves" or "hangs".
#include <unistd.h>

#include "ranks_mpi.h"

namespace {

constexpr int kElements = 1000;

__global__ void write_to_all(ncclDevComm comm, ncclWindow_t window, int round) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), 0};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  for (int peer = threadIdx.x; peer < comm.lsaSize; peer += blockDim.x)
    static_cast<int*>(ncclGetLsaPointer(window, 0, peer))[comm.lsaRank] = round * 100 + comm.rank;
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

/// Every rank puts a block to every rank, and values to the next one; more than the queue holds.
__global__ void put_to_all(
    ncclDevComm comm, ncclWindow_t send, ncclWindow_t recv, int count, uint64_t round) {
  ncclGin gin{comm, int(round % 4)};
  ncclBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), ncclTeamTagWorld(), gin, 0};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
  const size_t bytes = count * sizeof(int);
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    gin.put(ncclTeamWorld(comm), peer, recv, comm.rank * bytes, send, peer * bytes, bytes,
            ncclGin_SignalInc{0}, ncclGin_CounterInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, uint64_t(comm.nRanks));
  gin.waitCounter(ncclCoopCta(), 0, uint64_t(comm.nRanks));
  const int next = (comm.rank + 1) % comm.nRanks;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 300; ++i) {
      gin.putValue(ncclTeamWorld(comm), next, recv, (size_t(comm.nRanks) * count + i) * sizeof(int),
                   int(comm.rank * 1000 + i));
    }
    gin.signal(ncclTeamWorld(comm), next, ncclGin_SignalInc{1});
  }
  gin.waitSignal(ncclCoopCta(), 1, 1);
  gin.flush(ncclCoopCta());
  __syncthreads();
  if (threadIdx.x == 0) {
    gin.resetSignal(0);
    gin.resetSignal(1);
    gin.resetCounter(0);
  }
}

void check_collectives(const Rank& me, int n) {
  std::vector<int> values(n * kElements);
  for (int i = 0; i < n * kElements; ++i)
    values[i] = me.rank * 10000 + i;
  int device = 0;
  CUDA(cudaGetDevice(&device));
  int* send = upload(device, values);
  int* recv = upload(device, std::vector<int>(n * kElements, -1));
  const auto got = [&] {
    CUDA(cudaStreamSynchronize(me.stream));
    return download<int>(recv, n * kElements);
  };
  int ranks_sum = 0;
  for (int r = 0; r < n; ++r)
    ranks_sum += r;
  NCCL(ncclAllReduce(send, recv, kElements, ncclInt, ncclSum, me.comm, me.stream));
  EXPECT(got()[7] == ranks_sum * 10000 + 7 * n);
  NCCL(ncclAllGather(send, recv, kElements, ncclInt, me.comm, me.stream));
  const auto gathered = got();
  for (int i = 0; i < n * kElements; ++i)
    EXPECT(gathered[i] == i / kElements * 10000 + i % kElements);
  NCCL(ncclReduceScatter(send, recv, kElements, ncclInt, ncclMax, me.comm, me.stream));
  EXPECT(got()[3] == (n - 1) * 10000 + me.rank * kElements + 3);
  NCCL(ncclBroadcast(send, recv, kElements, ncclInt, n - 1, me.comm, me.stream));
  EXPECT(got()[5] == (n - 1) * 10000 + 5);
  NCCL(ncclAlltoAll(send, recv, kElements, ncclInt, me.comm, me.stream));
  const auto exchanged = got();
  for (int r = 0; r < n; ++r)
    EXPECT(exchanged[r * kElements + 9] == r * 10000 + me.rank * kElements + 9);
  NCCL(ncclGroupStart());
  NCCL(ncclSend(send, kElements, ncclInt, (me.rank + 1) % n, me.comm, me.stream));
  NCCL(ncclRecv(recv, kElements, ncclInt, (me.rank + n - 1) % n, me.comm, me.stream));
  NCCL(ncclGroupEnd());
  EXPECT(got()[11] == (me.rank + n - 1) % n * 10000 + 11);

  ncclComm_t half;
  NCCL(ncclCommSplit(me.comm, me.rank % 2, -me.rank, &half, nullptr));
  int ranks = 0;
  int rank = 0;
  NCCL(ncclCommCount(half, &ranks));
  NCCL(ncclCommUserRank(half, &rank));
  EXPECT(ranks == (n + 1 - me.rank % 2) / 2 && rank == ranks - 1 - me.rank / 2);
  NCCL(ncclAllReduce(send, recv, 1, ncclInt, ncclSum, half, me.stream));
  int sum = 0;
  for (int r = me.rank % 2; r < n; r += 2)
    sum += r * 10000;
  EXPECT(got()[0] == sum);
  NCCL(ncclCommDestroy(half));
}

/// The others' kernels wait for rank 0, which makes its buffer only now.
void check_late_memory(const Rank& me, int n) {
  constexpr int kLarge = 3 << 20;
  if (me.rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100'000);
  }
  int* memory = nullptr;
  CUDA(cudaMalloc(&memory, kLarge * sizeof(int)));
  CUDA(cudaMemsetAsync(memory, 1, kLarge * sizeof(int), me.stream));
  NCCL(ncclAllReduce(memory, memory, kLarge, ncclInt, ncclSum, me.comm, me.stream));
  if (me.rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  CUDA(cudaStreamSynchronize(me.stream));
  EXPECT(download<int>(memory, kLarge)[kLarge - 1] == 0x01010101 * n);
  CUDA(cudaFree(memory));
}

void check_windows(const Rank& me, int n, const ncclDevComm& comm) {
  for (int round = 1; round <= 3; ++round) {
    const OwnWindow window = make_window(me, size_t(round) << 20);
    write_to_all<<<1, 32, 0, me.stream>>>(comm, window.window, round);
    CUDA(cudaStreamSynchronize(me.stream));
    const auto got = download<int>(window.memory, n);
    for (int i = 0; i < comm.lsaSize; ++i)
      EXPECT(got[i] == round * 100 + me.rank - comm.lsaRank + i);
    free_window(me, window);
  }
}

void check_puts(const Rank& me, int n, const ncclDevComm& comm) {
  for (const int count : {1, 1000, 50'000}) {
    const OwnWindow send = make_window(me, size_t(n) * count * sizeof(int));
    const OwnWindow recv = make_window(me, (size_t(n) * count + 300) * sizeof(int));
    std::vector<int> values(n * count);
    for (int i = 0; i < n * count; ++i)
      values[i] = me.rank * 1'000'000 + i;
    CUDA(cudaMemcpy(send.memory, values.data(), values.size() * sizeof(int),
                    cudaMemcpyHostToDevice));
    for (uint64_t round = 0; round < 5; ++round) {
      put_to_all<<<1, 64, 0, me.stream>>>(comm, send.window, recv.window, count, round);
      CUDA(cudaStreamSynchronize(me.stream));
    }
    const auto got = download<int>(recv.memory, n * count + 300);
    for (int r = 0; r < n; ++r) {
      for (int i = 0; i < count; ++i)
        EXPECT(got[r * count + i] == r * 1'000'000 + me.rank * count + i);
    }
    for (int i = 0; i < 300; ++i)
      EXPECT(got[n * count + i] == (me.rank + n - 1) % n * 1000 + i);
    MPI_Barrier(MPI_COMM_WORLD);
    free_window(me, recv);
    free_window(me, send);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wrong = argc > 1 ? argv[1] : "";
  int n = 0;
  const Rank me = rank_of_mpi(argc, argv, &n);
  if (me.rank == 1 && wrong == "dies") _exit(0);
  if (me.rank == 1 && wrong == "leaves") return 0;
  if (me.rank == 1 && wrong == "hangs") pause();
  check_collectives(me, n);
  check_late_memory(me, n);
  ncclDevCommRequirements wanted = no_requirements();
  wanted.barrierCount = 1;
  wanted.ginSignalCount = 2;
  wanted.ginCounterCount = 1;
  ncclDevComm comm;
  NCCL(ncclDevCommCreate(me.comm, &wanted, &comm));
  check_windows(me, n, comm);
  check_puts(me, n, comm);
  NCCL(ncclDevCommDestroy(me.comm, &comm));
  NCCL(ncclCommDestroy(me.comm));
  free_all();
  MPI_Finalize();
  if (me.rank == 0) std::printf("%d processes: ok\n", n);
}
