// SPDX-License-Identifier: Apache-2.0
// A thread per rank, as many programs do it: joins, locks, conditions, barriers, clocks and sleeps
// between NCCL calls. Prints the virtual times, which must be the same in every run.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <pthread.h>

#include "check.h"

namespace {

std::mutex mutex;
std::condition_variable changed;
int turn = 0;
pthread_barrier_t everybody;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void run(int rank, int ranks, ncclUniqueId id, double* seconds) {
  CUDA(cudaSetDevice(rank));
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int* data = upload(rank, std::vector<int>(1 << 16, rank));
  const double start = now();
  // The ranks start one after the other, each a millisecond after the one before.
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return turn == rank; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++turn;
    changed.notify_all();
  }
  NCCL(ncclAllReduce(data, data, 1 << 16, ncclInt, ncclSum, comm, stream));
  CUDA(cudaStreamSynchronize(stream));
  *seconds = now() - start;
  EXPECT(download<int>(data, 1)[0] == ranks * (ranks - 1) / 2);
  pthread_barrier_wait(&everybody);
  NCCL(ncclCommDestroy(comm));
}

}  // namespace

int main() {
  int ranks = 0;
  CUDA(cudaGetDeviceCount(&ranks));
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  pthread_barrier_init(&everybody, nullptr, ranks);
  std::vector<double> seconds(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back(run, r, ranks, id, &seconds[r]);
  for (std::thread& thread : threads)
    thread.join();
  for (int r = 0; r < ranks; ++r)
    std::printf("rank %d: %.9f s\n", r, seconds[r]);
  EXPECT(seconds[ranks - 1] > ranks * 0.001);
  free_all();
  std::printf("threads on %d ranks: ok\n", ranks);
}
