// SPDX-License-Identifier: Apache-2.0
// Ranks that the program forks itself, without MPI: the id goes through a socket, nobody tells the
// server how many will come, and the ranks find by a time-out of their own that one does not come.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include <sched.h>

#include "check.h"

/// Waits for the stream as NCCL's guide says: asks for errors meanwhile, and gives up by the clock.
static bool ends_within(cudaStream_t stream, ncclComm_t comm, std::chrono::milliseconds limit) {
  const auto start = std::chrono::steady_clock::now();
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    ncclResult_t error = ncclSuccess;
    NCCL(ncclCommGetAsyncError(comm, &error));
    if (error != ncclSuccess && error != ncclInProgress) return false;
    if (std::chrono::steady_clock::now() - start > limit) return false;
    sched_yield();
  }
  return true;
}

static void run_rank(int rank, int ranks, int fd) {
  ncclUniqueId id;
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    for (int i = 1; i < ranks; ++i)
      EXPECT(write(fd, &id, sizeof id) == sizeof id);
  } else {
    EXPECT(read(fd, &id, sizeof id) == sizeof id);
  }
  CUDA(cudaSetDevice(rank));
  ncclComm_t comm = nullptr;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreate(&stream));
  float* data = nullptr;
  CUDA(cudaMalloc(&data, sizeof(float)));
  float value = static_cast<float>(rank + 1);
  CUDA(cudaMemcpy(data, &value, sizeof value, cudaMemcpyHostToDevice));
  NCCL(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream));
  EXPECT(ends_within(stream, comm, std::chrono::milliseconds(1000)));
  CUDA(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == ranks * (ranks + 1) / 2);
  if (rank == ranks - 1) {
    sleep(3);  // It has other things to do.
  } else {
    NCCL(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream));
    EXPECT(!ends_within(stream, comm, std::chrono::milliseconds(1000)));
  }
  NCCL(ncclCommAbort(comm));
  CUDA(cudaStreamSynchronize(stream));
}

int main() {
  constexpr int kRanks = 3;
  int fds[2];
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (fork() != 0) continue;
    run_rank(rank, kRanks, fds[rank == 0 ? 1 : 0]);
    std::fflush(stdout);
    _exit(0);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::printf("forked: ok\n");
}
