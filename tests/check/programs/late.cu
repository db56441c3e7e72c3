// SPDX-License-Identifier: Apache-2.0
// Waits that demand too little, and find that more has arrived; memory given back too early;
// collectives and copies beside the kernels that write what they send.
//
// CASE shadow_not_moved stale-signal --topology ib2x1
// CASE shadow_moved none --topology ib2x1
// CASE waits_for_last_phase stale-signal --topology ib2x1
// CASE waits_for_this_phase none --topology ib2x1
// CASE counter_of_last_phase source-reuse --topology ib2x1
// CASE counter_of_this_phase none --topology ib2x1
// CASE one_signal_for_all signal-count --topology nvlink4 --ranks 3
// CASE one_signal_each none --topology nvlink4 --ranks 3
// CASE one_signal_barrier none --topology nvlink4 --ranks 3
// CASE lsa_flag_of_last_phase unordered-read --topology nvlink4 --ranks 2
// CASE lsa_flag_of_this_phase none --topology nvlink4 --ranks 2
// CASE lsa_flag_device_scope unordered-read --topology nvlink4 --ranks 2
// CASE own_kernels none --topology nvlink4 --ranks 2
// CASE own_kernels_raise_relaxed unordered-read@pushed/taken --topology nvlink4 --ranks 2
// CASE own_kernels_wait_relaxed unordered-read@pushed/taken --topology nvlink4 --ranks 2
// CASE freed_in_flight use-after-free --topology ib2x1
// CASE freed_after_flush none --topology ib2x1
// CASE destroyed_in_flight use-after-free@put_only/destroy --topology ib2x1
// CASE destroyed_after_flush none --topology ib2x1
// CASE memory_freed_in_flight use-after-free@put_only/mem_free --topology ib2x1
// CASE cuda_freed_in_flight use-after-free@put_only/cuda_free --topology ib2x1
// CASE cuda_freed_target_in_flight use-after-free@put_only/target_free --topology ib2x1
// CASE cuda_freed_async_in_flight source-reuse@put_only/free_async --topology ib2x1
// CASE cuda_freed_after_arrival none --topology ib2x1
// CASE gather_beside_writer global-race --topology nvlink4 --ranks 2
// CASE gather_after_writer none --topology nvlink4 --ranks 2
// CASE writer_beside_gather global-race --topology nvlink4 --ranks 2
// CASE copy_beside_writer global-race --topology nvlink4 --ranks 2
// CASE copy_after_writer none --topology nvlink4 --ranks 2
#include <cuda/atomic>

#include "ranks.h"

constexpr int kThreads = 64;
constexpr size_t kPart = kThreads * sizeof(int);
constexpr size_t kOut = 0;
constexpr size_t kIn = 8 * kPart;
constexpr size_t kFlags = 32 * kPart;
constexpr size_t kWindow = 64 * kPart;

__device__ int* local(ncclWindow_t window, size_t offset) {
  return static_cast<int*>(ncclGetLocalPointer(window, offset));
}

__device__ void dawdle() {
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
}

// Rank 0 puts once a phase, rank 1 comes late to the second.
__global__ void phase(ncclDevComm comm, ncclWindow_t window, int number, uint64_t least, bool shadow, int* out) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, kIn + number * kPart, window, kOut, kPart,
            ncclGin_SignalInc{0}, ncclGin_None{}, ncclCoopCta());
    gin.flush(ncclCoopCta());
    return;
  }
  dawdle();
  if (shadow) {
    if (threadIdx.x == 0) gin.increaseSignalShadow(0, 1);
    __syncthreads();
    gin.waitSignalMeetShadow(ncclCoopCta(), 0);
  } else {
    gin.waitSignal(ncclCoopCta(), 0, least);
  }
  out[threadIdx.x] = local(window, kIn + number * kPart)[threadIdx.x];
}

// The source is written again behind a counter.
__global__ void counted(ncclDevComm comm, ncclWindow_t window, uint64_t least) {
  ncclGin gin{comm, 0};
  if (comm.rank == 1) {
    gin.waitSignal(ncclCoopCta(), 1, 2);
    return;
  }
  for (int round = 0; round < 2; ++round) {
    local(window, kOut)[threadIdx.x + round * kThreads] = round;
    gin.put(ncclTeamWorld(comm), 1, window, kIn + round * kPart, window, kOut + round * kPart, kPart,
            ncclGin_SignalInc{1}, ncclGin_CounterInc{0}, ncclCoopCta());
  }
  dawdle();
  gin.waitCounter(ncclCoopCta(), 0, least);
  local(window, kOut)[threadIdx.x + kThreads] = 7;
  gin.flush(ncclCoopCta());
}

// Everybody sends to everybody, twice; without a barrier a fast rank's second signal may come
// before a slow rank's first.
__global__ void exchange(ncclDevComm comm, ncclWindow_t window, bool shared, bool barrier, int* out) {
  ncclGin gin{comm, 0};
  for (int round = 0; round < 2; ++round) {
    if (barrier) {
      ncclLsaBarrierSession<ncclCoopCta> all(ncclCoopCta(), comm, ncclTeamTagLsa(), 0);
      all.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    }
    for (int peer = 0; peer < comm.nRanks; ++peer) {
      if (peer == comm.rank) continue;
      gin.put(ncclTeamWorld(comm), peer, window, kIn + (round * comm.nRanks + comm.rank) * kPart, window,
              kOut + round * kPart, kPart, ncclGin_SignalInc{(ncclGinSignal_t)(shared ? 2 : 3 + comm.rank)},
              ncclGin_None{}, ncclCoopCta());
    }
    if (shared) gin.waitSignal(ncclCoopCta(), 2, (round + 1) * (comm.nRanks - 1));
    for (int peer = 0; peer < comm.nRanks; ++peer) {
      if (peer == comm.rank) continue;
      if (!shared) gin.waitSignal(ncclCoopCta(), 3 + peer, round + 1);
      out[threadIdx.x] += local(window, kIn + (round * comm.nRanks + peer) * kPart)[threadIdx.x];
    }
  }
  gin.flush(ncclCoopCta());
}

// Flags in a window, raised to the phase's number.
template <cuda::thread_scope kScope>
__global__ void flagged(ncclDevComm comm, ncclWindow_t window, unsigned awaited, int* out) {
  if (comm.lsaRank == 0) {
    int* peer = static_cast<int*>(ncclGetLsaPointer(window, 0, 1));
    for (unsigned number = 1; number <= 2; ++number) {
      peer[number * kThreads + threadIdx.x] = int(number);
      __syncthreads();
      if (threadIdx.x == 0) {
        cuda::atomic_ref<unsigned, kScope> flag(*(unsigned*)((char*)peer + kFlags));
        flag.store(number, cuda::memory_order_release);
      }
    }
    return;
  }
  dawdle();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, kScope> flag(*(unsigned*)local(window, kFlags));
    while (flag.load(cuda::memory_order_acquire) < awaited) {}
  }
  __syncthreads();
  out[threadIdx.x] = local(window, 0)[2 * kThreads + threadIdx.x];
}

// Data, its flag and the wait for it, each in a kernel of its own.
using SystemFlag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
__global__ void push(ncclDevComm comm, ncclWindow_t window) {
  static_cast<int*>(ncclGetLsaPointer(window, 0, 1))[threadIdx.x] = 1;  // :pushed
}
__global__ void raise(ncclDevComm comm, ncclWindow_t window, cuda::memory_order order) {
  SystemFlag(*static_cast<unsigned*>(ncclGetLsaPointer(window, kFlags, 1))).store(1, order);
}
__global__ void await(ncclDevComm comm, ncclWindow_t window, cuda::memory_order order) {
  while (SystemFlag(*(unsigned*)local(window, kFlags)).load(order) == 0) {}
}
__global__ void take(ncclDevComm comm, ncclWindow_t window, int* out) {
  out[threadIdx.x] = local(window, 0)[threadIdx.x];  // :taken
}

__global__ void put_only(ncclDevComm comm, ncclWindow_t window, bool flush) {
  ncclGin gin{comm, 0};
  if (comm.rank != 0) {
    gin.waitSignal(ncclCoopCta(), 1, 1);
    return;
  }
  gin.put(ncclTeamWorld(comm), 1, window, kIn, window, kOut, kPart, ncclGin_SignalInc{1},
          ncclGin_None{}, ncclCoopCta());  // :put_only
  if (flush) gin.flush(ncclCoopCta());
}

__global__ void fill(int* data, int value, bool slow) {
  if (slow) dawdle();
  data[threadIdx.x] = value;
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  const bool cuda_target = run.is("cuda_freed_target_in_flight");
  const bool cuda_async = run.is("cuda_freed_async_in_flight");
  const bool cuda_arrived = run.is("cuda_freed_after_arrival");
  const bool by_cuda = cuda_target || cuda_async || cuda_arrived || run.is("cuda_freed_in_flight");
  Ranks ranks(kWindow);
  ranks.make_windows(kWindow);
  const bool lsa = run.is("one_signal_barrier");
  ranks.make_dev(lsa ? 1 : 0, 0, 8, 1);
  std::vector<int*> out(ranks.count);
  std::vector<cudaStream_t> side(ranks.count);
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaStreamCreate(&side[r]));
    CUDA(cudaMalloc(&out[r], kPart));
    CUDA(cudaMemset(out[r], 0, kPart));
    CUDA(cudaDeviceSynchronize());
  }
  const auto everywhere = [&](auto&& launch) {
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      launch(r, ranks.streams[r]);
    }
  };
  // The warm-up's signal counts, but only the right wait knows of it.
  const auto phases = [&](uint64_t second, bool shadow, bool moved) {
    for (int number = 0; number < 2; ++number) {
      everywhere([&](int r, cudaStream_t stream) {
        phase<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], number, number == 0 ? 1 : second,
                                          shadow && (moved || number == 1), out[r]);
      });
      ranks.wait();
    }
  };
  if (run.is("shadow_not_moved")) phases(2, true, false);
  if (run.is("shadow_moved")) phases(2, true, true);
  if (run.is("waits_for_last_phase")) phases(1, false, false);
  if (run.is("waits_for_this_phase")) phases(2, false, false);
  const auto counts = [&](uint64_t least) {
    everywhere([&](int r, cudaStream_t stream) {
      counted<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], least);
    });
  };
  if (run.is("counter_of_last_phase")) counts(1);
  if (run.is("counter_of_this_phase")) counts(2);
  const auto exchanges = [&](bool shared) {
    everywhere([&](int r, cudaStream_t stream) {
      exchange<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], shared, lsa, out[r]);
    });
  };
  if (run.is("one_signal_for_all")) exchanges(true);
  if (run.is("one_signal_each")) exchanges(false);
  if (lsa) exchanges(true);
  const auto flags = [&](auto kernel, unsigned awaited) {
    everywhere([&](int r, cudaStream_t stream) {
      kernel<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], awaited, out[r]);
    });
  };
  if (run.is("lsa_flag_of_last_phase")) flags(flagged<cuda::thread_scope_system>, 1);
  if (run.is("lsa_flag_of_this_phase")) flags(flagged<cuda::thread_scope_system>, 2);
  if (run.is("lsa_flag_device_scope")) flags(flagged<cuda::thread_scope_device>, 2);
  const bool raises = run.is("own_kernels_raise_relaxed");
  const bool waits = run.is("own_kernels_wait_relaxed");
  if (raises || waits || run.is("own_kernels")) {
    everywhere([&](int r, cudaStream_t stream) {
      if (r == 0) {
        push<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r]);
        raise<<<1, 1, 0, stream>>>(ranks.devs[r], ranks.windows[r],
                                   raises ? cuda::memory_order_relaxed : cuda::memory_order_release);
      } else {
        await<<<1, 1, 0, stream>>>(ranks.devs[r], ranks.windows[r],
                                   waits ? cuda::memory_order_relaxed : cuda::memory_order_acquire);
        take<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], out[r]);
      }
    });
  }
  if (run.is("freed_in_flight") || run.is("freed_after_flush")) {
    everywhere([&](int r, cudaStream_t stream) {
      put_only<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], run.is("freed_after_flush"));
    });
    // Rank 0 waits for its own work only.
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamSynchronize(ranks.streams[0]));
    NCCL(ncclCommWindowDeregister(ranks.comms[0], ranks.windows[0]));
    ranks.windows[0] = nullptr;
  }
  const bool frees = run.is("memory_freed_in_flight");
  if (frees || run.is("destroyed_in_flight") || run.is("destroyed_after_flush")) {
    everywhere([&](int r, cudaStream_t stream) {
      put_only<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], run.is("destroyed_after_flush"));
    });
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamSynchronize(ranks.streams[0]));
    if (frees) NCCL(ncclMemFree(ranks.memory[0]));  // :mem_free
    if (!frees) NCCL(ncclDevCommDestroy(ranks.comms[0], &ranks.devs[0]));  // :destroy
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamSynchronize(ranks.streams[1]));
    if (!frees) NCCL(ncclDevCommDestroy(ranks.comms[1], &ranks.devs[1]));
    ranks.has_dev = frees;
  }
  if (by_cuda) {
    everywhere([&](int r, cudaStream_t stream) {
      // Nobody waits on rank 1, but where all has arrived before anything is freed.
      if (r == 0 || cuda_arrived) put_only<<<1, kThreads, 0, stream>>>(ranks.devs[r], ranks.windows[r], cuda_arrived);
    });
    if (cuda_arrived) ranks.wait();
    CUDA(cudaSetDevice(0));
    if (cuda_async) CUDA(cudaFreeAsync(ranks.memory[0], ranks.streams[0]));  // :free_async
    CUDA(cudaStreamSynchronize(ranks.streams[0]));
    if (!cuda_async && !cuda_target) CUDA(cudaFree(ranks.memory[0]));  // :cuda_free
    CUDA(cudaSetDevice(1));
    if (cuda_target) CUDA(cudaFree(ranks.memory[1]));  // :target_free
    ranks.memory[cuda_target ? 1 : 0] = nullptr;
  }
  const auto gathers = [&](bool slow_writer, bool slow_gather, bool ordered) {
    std::vector<cudaEvent_t> events(ranks.count);
    everywhere([&](int r, cudaStream_t stream) {
      CUDA(cudaEventCreate(&events[r]));
      fill<<<1, kThreads, 0, stream>>>((int*)ranks.memory[r], r, slow_writer);
      CUDA(cudaEventRecord(events[r], stream));
      if (slow_gather) fill<<<1, kThreads, 0, side[r]>>>(out[r], 0, true);
      if (ordered) CUDA(cudaStreamWaitEvent(side[r], events[r], 0));
    });
    NCCL(ncclGroupStart());
    for (int r = 0; r < ranks.count; ++r) {
      NCCL(ncclAllGather(ranks.memory[r], (char*)ranks.memory[r] + kIn, kThreads, ncclInt, ranks.comms[r], side[r]));
    }
    NCCL(ncclGroupEnd());
    everywhere([&](int r, cudaStream_t) {
      CUDA(cudaStreamSynchronize(side[r]));
      CUDA(cudaStreamSynchronize(ranks.streams[r]));
      CUDA(cudaEventDestroy(events[r]));
    });
  };
  // The kernel is done before the collective ends; or begins; or writes after it has ended.
  if (run.is("gather_beside_writer")) gathers(false, true, false);
  if (run.is("gather_after_writer")) gathers(true, false, true);
  if (run.is("writer_beside_gather")) gathers(true, false, false);
  const auto copies = [&](bool ordered) {
    CUDA(cudaSetDevice(0));
    fill<<<1, kThreads, 0, ranks.streams[0]>>>((int*)ranks.memory[0], 1, false);
    fill<<<1, kThreads, 0, side[0]>>>(out[0], 0, true);
    if (ordered) CUDA(cudaStreamSynchronize(ranks.streams[0]));
    CUDA(cudaMemcpyPeerAsync(ranks.memory[1], 1, ranks.memory[0], 0, kPart, side[0]));
    CUDA(cudaStreamSynchronize(side[0]));
  };
  if (run.is("copy_beside_writer")) copies(false);
  if (run.is("copy_after_writer")) copies(true);
  ranks.wait();
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaStreamSynchronize(side[r]));
    CUDA(cudaStreamDestroy(side[r]));
    CUDA(cudaFree(out[r]));
  }
  ranks.clean_up();
  return run.end();
}
