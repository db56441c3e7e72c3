// SPDX-License-Identifier: Apache-2.0
// Threads that meet by a mutex, a counter and a condition variable, round after round. Who comes
// last wakes the first and then sleeps on the same condition itself: if it took its own signal, both
// would sleep for ever.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

constexpr int kThreads = 2;
constexpr int kRounds = 20;

void meet(int me) {
  thread_local int side = 0;
  static std::mutex locks[2];
  static std::condition_variable changed[2];
  static int present[2] = {0, 0};
  std::unique_lock<std::mutex> lock(locks[side]);
  if (++present[side] == kThreads) changed[side].notify_all();
  if (me == 0) {
    changed[side].wait(lock, [&] { return present[side] == kThreads; });
    present[side] = 0;
    changed[side].notify_all();
  } else {
    changed[side].wait(lock, [&] { return present[side] == 0; });
  }
  side ^= 1;
}

__global__ void add_one(int* x) { ++x[threadIdx.x]; }

int main() {
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) {
    threads.emplace_back([me] {
      cudaSetDevice(me);
      int* x = nullptr;
      cudaMalloc(&x, 32 * sizeof(int));
      cudaMemset(x, 0, 32 * sizeof(int));
      for (int round = 0; round < kRounds; ++round) {
        add_one<<<1, 32>>>(x);
        if (round % 3 != me) cudaDeviceSynchronize();
        meet(me);
      }
      cudaFree(x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("met %d times\n", kRounds);
}
