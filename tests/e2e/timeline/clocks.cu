// SPDX-License-Identifier: Apache-2.0
// Reads every clock that a program has, around one kernel that takes a known time, and holds them
// against each other: clock64, globaltimer, events, MPI_Wtime, std::chrono. Rank after rank, so
// that clocks of different ranks can be compared, too.
#include <chrono>
#include <cmath>
#include <ctime>

#include <mpi.h>

#include "../nccl/check.h"

namespace {

constexpr double kMicrosecond = 1e-6;

struct KernelTime {
  unsigned long long begin_ns;
  unsigned long long end_ns;
  long long cycles;
};

__device__ unsigned long long global_timer() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// A loop that only reads a clock is taken in leaps: the store ends it, and the clocks are read once
// more after that, one right after the other.
__global__ void take(long long nanoseconds, volatile KernelTime* out) {
  const unsigned long long begin = global_timer();
  const long long first = clock64();
  while (global_timer() - begin < static_cast<unsigned long long>(nanoseconds)) {
  }
  out->begin_ns = begin;
  const unsigned long long end = global_timer();
  out->cycles = clock64() - first;
  out->end_ns = end;
}

/// Seconds of each clock of the host.
struct HostTime {
  double steady =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  double system =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  double mpi = MPI_Wtime();
  double monotonic = now(CLOCK_MONOTONIC);
  double realtime = now(CLOCK_REALTIME);

  static double now(clockid_t which) {
    timespec time{};
    clock_gettime(which, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
};

void expect_near(const char* what, double got, double wanted, double tolerance) {
  if (std::abs(got - wanted) <= tolerance) return;
  std::printf("%s: %.3f us, not %.3f us +- %.3f us\n", what, got * 1e6, wanted * 1e6,
              tolerance * 1e6);
  std::exit(1);
}

void expect_within(const char* what, double got, double low, double high) {
  if (low <= got && got <= high) return;
  std::printf("%s: %.3f us, not %.3f to %.3f us\n", what, got * 1e6, low * 1e6, high * 1e6);
  std::exit(1);
}

void measure(int rank, int clock_khz, long long nanoseconds, KernelTime* memory) {
  cudaEvent_t start;
  cudaEvent_t stop;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&stop));
  const HostTime before;
  CUDA(cudaEventRecord(start));
  take<<<1, 1>>>(nanoseconds, memory);
  CUDA(cudaEventRecord(stop));
  CUDA(cudaEventSynchronize(stop));
  const HostTime after;
  float milliseconds = 0;
  CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
  const KernelTime kernel = download<KernelTime>(memory, 1)[0];

  const double wanted = 1e-9 * static_cast<double>(nanoseconds);
  const double timer = 1e-9 * static_cast<double>(kernel.end_ns - kernel.begin_ns);
  const double cycles = static_cast<double>(kernel.cycles) / (1e3 * clock_khz);
  const double events = 1e-3 * milliseconds;
  const double host = after.steady - before.steady;
  // In a kernel: the loop ends at the first look that is late enough.
  expect_within("globaltimer", timer, wanted, 1.05 * wanted + kMicrosecond);
  expect_near("clock64", cycles, timer, 0.001 * timer + 0.2 * kMicrosecond);
  // Around it: the launch, the two records, and the call that waits.
  expect_within("events", events, timer, timer + 15 * kMicrosecond);
  expect_within("std::chrono::steady_clock", host, events, events + 20 * kMicrosecond);
  // The host's clocks are read one after the other, and reading takes time.
  expect_near("std::chrono::system_clock", after.system - before.system, host, 2 * kMicrosecond);
  expect_near("MPI_Wtime", after.mpi - before.mpi, host, 2 * kMicrosecond);
  expect_near("CLOCK_MONOTONIC", after.monotonic - before.monotonic, host, 2 * kMicrosecond);
  expect_near("CLOCK_REALTIME", after.realtime - before.realtime, host, 2 * kMicrosecond);
  std::printf(
      "rank %d took %lld ns by globaltimer, %.0f ns by clock64, %.0f ns by events, %.0f ns "
      "by std::chrono\n",
      rank, static_cast<long long>(kernel.end_ns - kernel.begin_ns), cycles * 1e9, events * 1e9,
      host * 1e9);
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(stop));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CUDA(cudaSetDevice(rank));
  int clock_khz = 0;
  CUDA(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, rank));
  KernelTime* memory = nullptr;
  CUDA(cudaMalloc(&memory, sizeof(KernelTime)));
  take<<<1, 1>>>(0, memory);  // loads the code
  CUDA(cudaDeviceSynchronize());

  // A rank goes on when the one before is done: its clocks must be later, on the GPU and beside it.
  double told[2] = {0, 0};
  if (rank > 0) MPI_Recv(told, 2, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(MPI_Wtime() >= told[0]);
  for (const long long nanoseconds : {50000LL, 1000000LL})
    measure(rank, clock_khz, nanoseconds * (1 + rank), memory);
  const KernelTime last = download<KernelTime>(memory, 1)[0];
  EXPECT(static_cast<double>(last.begin_ns) > told[1]);
  double mine[2] = {MPI_Wtime(), static_cast<double>(last.end_ns)};
  if (rank + 1 < size) MPI_Send(mine, 2, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
  CUDA(cudaFree(memory));
  MPI_Finalize();
  if (rank == size - 1) std::puts("clocks: ok");
}
