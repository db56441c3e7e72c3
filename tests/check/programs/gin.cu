// SPDX-License-Identifier: Apache-2.0
// Puts, signals and counters between two ranks: the bugs of device-initiated communication.
//
// CASE read_without_wait unordered-read --topology ib2x1
// CASE read_after_wait none --topology ib2x1
// CASE read_after_relaxed_wait unordered-read --topology ib2x1
// CASE put_before_producer_is_done unordered-read --topology ib2x1
// CASE put_after_barrier none --topology ib2x1
// CASE put_released_for_the_device unordered-read --topology ib2x1
// CASE put_released_early unordered-read --topology ib2x1
// CASE put_released_by_others unordered-read --topology ib2x1
// CASE put_released_for_the_system none --topology ib2x1
// CASE put_released_by_all none --topology ib2x1
// CASE source_reused source-reuse --topology ib2x1
// CASE source_reused_after_flush none --topology ib2x1
// CASE source_reused_after_counter none --topology ib2x1
// CASE next_put_overwrites global-race,source-reuse --topology ib2x1
// CASE next_put_waits_for_reader none --topology ib2x1
// CASE stale_signal stale-signal --topology ib2x1
// CASE stale_signal_other_index stale-signal --topology ib2x1
// CASE counted_signal none --topology ib2x1
// CASE reset_signal none --topology ib2x1
// CASE waits_for_one_of_two signal-count --topology ib2x1
// CASE waits_for_two_of_two none --topology ib2x1
// CASE wrong_signal lost-signal --topology ib2x1
// CASE waits_for_too_many lost-signal --topology ib2x1
// CASE offset_past_the_window outside-window --topology ib2x1
// CASE signal_that_does_not_exist outside-window --topology ib2x1
// CASE last_offset none --topology ib2x1
#include "ranks.h"

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(float);
constexpr size_t kSource = 0;
constexpr size_t kTarget = 4 * kBytes;
constexpr size_t kWindow = 16 * kBytes;

/// Who releases the source for the NIC, and how far. NCCL 2.28.9 leaves its own release out where the
/// last argument of a put is cuda::thread_scope_system.
enum class Release { ByPut, Device, Early, ByOthers, System, ByAll };

struct Plan {
  bool wait = true;
  bool relaxed = false;
  bool barrier = true;
  bool flush = false;
  bool counter = false;
  bool reuse = false;
  bool produce = true;
  Release release = Release::ByPut;
  int puts = 1;
  int signal = 0;
  int waited_signal = 0;
  uint64_t least = 1;
  size_t offset = kTarget;
};

/// Rank 0 fills its source and puts it to rank 1, which reads it.
__global__ void exchange(ncclDevComm comm, ncclWindow_t window, Plan plan, float* sum) {
  ncclGin gin{comm, 0};
  float* source = static_cast<float*>(ncclGetLocalPointer(window, kSource));
  float* target = static_cast<float*>(ncclGetLocalPointer(window, kTarget));
  if (comm.rank == 0) {
    constexpr auto kSystem = cuda::thread_scope_system;
    if (plan.release == Release::Early) __threadfence_system();
    if (plan.produce) source[threadIdx.x] = threadIdx.x;
    if (plan.release == Release::Device) __threadfence();
    if (plan.release == Release::ByAll) __threadfence_system();
    if (plan.release == Release::ByOthers && threadIdx.x != 0)
      cuda::atomic_thread_fence(cuda::memory_order_release, kSystem);
    if (plan.barrier) __syncthreads();
    if (threadIdx.x == 0 && plan.release != Release::ByPut) {
      if (plan.release == Release::System)
        cuda::atomic_thread_fence(cuda::memory_order_release, kSystem);
      gin.put(ncclTeamWorld(comm), 1, window, plan.offset, window, kSource, kBytes,
              ncclGin_SignalInc{0}, ncclGin_None{}, ncclCoopThread{}, ncclGin_None{}, kSystem,
              kSystem);
    } else if (threadIdx.x == 0) {
      for (int i = 0; i < plan.puts; ++i) {
        const size_t part = kBytes / plan.puts;
        if (plan.counter) {
          gin.put(ncclTeamWorld(comm), 1, window, plan.offset + i * part, window,
                  kSource + i * part, part, ncclGin_SignalInc{(unsigned)plan.signal},
                  ncclGin_CounterInc{0});
        } else {
          gin.put(ncclTeamWorld(comm), 1, window, plan.offset + i * part, window,
                  kSource + i * part, part, ncclGin_SignalInc{(unsigned)plan.signal});
        }
      }
    }
    __syncthreads();
    if (plan.flush) gin.flush(ncclCoopCta());
    if (plan.counter) gin.waitCounter(ncclCoopCta(), 0, 1);
    if (plan.reuse) source[threadIdx.x] = -1;
    return;
  }
  if (plan.wait) {
    gin.waitSignal(ncclCoopCta(), plan.waited_signal, plan.least, 64,
                   plan.relaxed ? cuda::memory_order_relaxed : cuda::memory_order_acquire);
  }
  sum[threadIdx.x] = target[threadIdx.x];
}

/// Two rounds into the same place; with an answer, the sender waits for the reader.
__global__ void two_rounds(ncclDevComm comm, ncclWindow_t window, bool answer, float* sum) {
  ncclGin gin{comm, 0};
  float* source = static_cast<float*>(ncclGetLocalPointer(window, kSource));
  float* target = static_cast<float*>(ncclGetLocalPointer(window, kTarget));
  for (int round = 0; round < 2; ++round) {
    if (comm.rank == 0) {
      if (round > 0 && answer) gin.waitSignal(ncclCoopCta(), 1, round);
      source[round * kCount + threadIdx.x] = round;
      gin.put(ncclTeamWorld(comm), 1, window, kTarget, window, kSource + round * kBytes, kBytes,
              ncclGin_SignalInc{0}, ncclGin_None{}, ncclCoopCta());
    } else {
      gin.waitSignal(ncclCoopCta(), 0, round + 1);
      sum[threadIdx.x] = target[threadIdx.x];
      if (answer) gin.signal(ncclTeamWorld(comm), 0, ncclGin_SignalInc{1}, ncclCoopCta());
    }
  }
}

/// Rank 0's answer: nothing reads the target until the host has met everybody.
__global__ void warm_up(ncclDevComm comm, ncclWindow_t window, int signal, bool reset) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, kTarget, window, kSource, kBytes,
            ncclGin_SignalInc{(unsigned)signal}, ncclGin_None{}, ncclCoopCta());
    gin.flush(ncclCoopCta());
  } else {
    gin.waitSignal(ncclCoopCta(), signal, 1);
    __syncthreads();
    if (reset && threadIdx.x == 0) gin.resetSignal(signal);
  }
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  Ranks ranks(kWindow);
  ranks.make_windows(kWindow);
  ranks.make_dev(0, 1, 4, 2);
  std::vector<float*> sums(ranks.count);
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaMalloc(&sums[r], kBytes));
  }
  const auto everywhere = [&](const Plan& plan) {
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      exchange<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], plan, sums[r]);
    }
  };
  Plan plan;
  if (run.is("read_without_wait")) {
    plan.wait = false;
    everywhere(plan);
  }
  if (run.is("read_after_wait")) everywhere(plan);
  if (run.is("read_after_relaxed_wait")) {
    plan.relaxed = true;
    everywhere(plan);
  }
  if (run.is("put_before_producer_is_done")) {
    plan.barrier = false;
    everywhere(plan);
  }
  if (run.is("put_after_barrier")) everywhere(plan);
  const auto with_release = [&](const char* name, Release release) {
    if (!run.is(name)) return;
    plan.release = release;
    everywhere(plan);
  };
  with_release("put_released_for_the_device", Release::Device);
  with_release("put_released_early", Release::Early);
  with_release("put_released_by_others", Release::ByOthers);
  with_release("put_released_for_the_system", Release::System);
  with_release("put_released_by_all", Release::ByAll);
  if (run.is("source_reused")) {
    plan.reuse = true;
    everywhere(plan);
  }
  if (run.is("source_reused_after_flush")) {
    plan.reuse = plan.flush = true;
    everywhere(plan);
  }
  if (run.is("source_reused_after_counter")) {
    plan.reuse = plan.counter = true;
    everywhere(plan);
  }
  if (run.is("next_put_overwrites") || run.is("next_put_waits_for_reader")) {
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      two_rounds<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r],
                                                     run.is("next_put_waits_for_reader"), sums[r]);
    }
  }
  // The bug that made a published result: warm-up raises the signal that the timed round waits for,
  // with the same data in both rounds, so that the output is right all the same.
  if (run.is("stale_signal") || run.is("stale_signal_other_index") || run.is("counted_signal") ||
      run.is("reset_signal")) {
    plan.produce = false;
    plan.signal = plan.waited_signal = run.is("stale_signal_other_index") ? 2 : 0;
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      warm_up<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], plan.signal,
                                                  run.is("reset_signal"));
    }
    ranks.wait();
    plan.least = run.is("counted_signal") ? 2 : 1;
    everywhere(plan);
  }
  if (run.is("waits_for_one_of_two") || run.is("waits_for_two_of_two")) {
    plan.puts = 2;
    plan.least = run.is("waits_for_two_of_two") ? 2 : 1;
    everywhere(plan);
  }
  if (run.is("wrong_signal")) {
    plan.signal = 1;
    everywhere(plan);
  }
  if (run.is("waits_for_too_many")) {
    plan.least = 3;
    everywhere(plan);
  }
  if (run.is("offset_past_the_window")) {
    plan.offset = kWindow - 16;
    everywhere(plan);
  }
  if (run.is("signal_that_does_not_exist")) {
    plan.signal = 1000;
    everywhere(plan);
  }
  if (run.is("last_offset")) {
    plan.offset = kWindow - kBytes;
    everywhere(plan);
  }
  ranks.wait();
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaFree(sums[r]));
  }
  ranks.clean_up();
  return run.end();
}
