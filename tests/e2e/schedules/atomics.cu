// SPDX-License-Identifier: Apache-2.0
// Threads that meet by what C++20 has for it (std::barrier, std::latch, std::counting_semaphore,
// std::atomic::wait) and by a future. Each time one of them is busy on its GPU when the others come,
// so they sleep: the server has to know that, or it waits for calls that nobody makes.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

constexpr int kThreads = 3;
constexpr int kRounds = 8;

__global__ void wait_for(long long nanoseconds) {
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

std::barrier<> meeting(kThreads);
std::latch last_round(kThreads);
std::counting_semaphore<kThreads> free_places(1);
std::atomic<int> turn = 0;

void work(int me, std::promise<int>* done) {
  cudaSetDevice(me);
  for (int round = 0; round < kRounds; ++round) {
    if (round % kThreads == me) {
      wait_for<<<1, 1>>>(50'000);
      cudaDeviceSynchronize();
    }
    meeting.arrive_and_wait();
  }
  free_places.acquire();
  wait_for<<<1, 1>>>(20'000);
  cudaDeviceSynchronize();
  free_places.release();
  for (int seen = turn.load(); seen != me; seen = turn.load()) turn.wait(seen);
  wait_for<<<1, 1>>>(20'000);
  cudaDeviceSynchronize();
  turn.store(me + 1);
  turn.notify_all();
  last_round.arrive_and_wait();
  if (me == 0) done->set_value(kRounds);
}

int main() {
  std::promise<int> done;
  auto result = done.get_future();
  std::vector<std::jthread> threads;
  for (int me = 0; me < kThreads; ++me) threads.emplace_back(work, me, &done);
  // Nobody sends this: the time runs out, and it is virtual.
  std::counting_semaphore<1> never(0);
  const auto begin = std::chrono::steady_clock::now();
  const bool came = never.try_acquire_for(std::chrono::hours(1));
  const auto took = std::chrono::steady_clock::now() - begin;
  std::printf("met %d times, turn %d, %s\n", result.get(), turn.load(),
              !came && took >= std::chrono::hours(1) ? "in time" : "not in time");
}
