// SPDX-License-Identifier: Apache-2.0
// Load/store windows and multimem, in other code than lsa.cu: flags in the window, phases, peers'
// reductions, barriers of teams and of tiles; collectives over windows, in groups, and ranks that
// never come.
//
// CASE flag_of_last_phase unordered-read@consume/produce --ranks 2
// CASE flag_counts_phases none --ranks 2
// CASE flag_without_release unordered-read@consume/produce --ranks 2
// CASE flag_of_device_scope unordered-read@consume/produce --ranks 2
// CASE next_phase_overwrites unordered-read --ranks 2
// CASE next_phase_waits none --ranks 2
// CASE peers_read_before_barrier unordered-read@reduce/fill --ranks 4
// CASE peers_read_after_barrier none --ranks 4
// CASE one_barrier_too_few unordered-read --ranks 4
// CASE two_barriers none --ranks 4
// CASE multimem_store_unseen unordered-read --ranks 4 --topology nvlink4
// CASE multimem_store_seen none --ranks 4 --topology nvlink4
// CASE multimem_sum_too_early unordered-read --ranks 4 --topology nvlink4
// CASE multimem_sum none --ranks 4 --topology nvlink4
// CASE tiles_share_barriers barrier-index --ranks 2
// CASE tiles_have_barriers none --ranks 2
// CASE rank_skips_barrier barrier-index --ranks 4
// CASE rank_launches_nothing barrier-index --ranks 2
// CASE all_ranks_launch none --ranks 2
// CASE peer_rank_outside_team outside-window --ranks 2
// CASE peer_rank_in_team none --ranks 2
// CASE row_past_the_window out-of-bounds@row --ranks 2
// CASE row_in_the_window none --ranks 2
// CASE peer_freed use-after-free --ranks 2
// CASE peer_freed_after_use none --ranks 2
// CASE freed_twice use-after-free --ranks 2
// CASE deregistered_twice use-after-free --ranks 2
// CASE destroyed_twice use-after-free --ranks 2
// CASE collective_of_other_type collective-mismatch --ranks 2
// CASE collective_of_other_operator collective-mismatch --ranks 2
// CASE collective_of_same_type none --ranks 2
// CASE send_without_receive collective-mismatch --ranks 2
// CASE send_with_receive none --ranks 2
// CASE rank_leaves_loop_early collective-mismatch --ranks 4
// CASE rank_stays_in_loop none --ranks 4
// CASE result_read_while_reducing global-race --ranks 2
// CASE result_read_after_reducing none --ranks 2
// CASE buffer_refilled_while_sending global-race --ranks 2
// CASE buffer_refilled_after_sending none --ranks 2
#include "ranks.h"

constexpr int kThreads = 128;
constexpr size_t kWindow = 4 * 4096;
constexpr size_t kFlag = 3 * 4096;

enum class Flags { Stale, Counted, Relaxed, Narrow };

/// Every rank gives its peer a message in two phases and reads the peer's.
__global__ void phases(
    ncclDevComm comm, ncclWindow_t window, Flags mode, bool answer, float4* out) {
  const int peer = 1 - comm.lsaRank;
  auto* theirs = static_cast<float4*>(ncclGetLsaPointer(window, 0, peer));
  auto* mine = static_cast<float4*>(ncclGetLocalPointer(window, 0));
  auto* their_flag = static_cast<unsigned*>(ncclGetLsaPointer(window, kFlag, peer));
  auto* my_flag = static_cast<unsigned*>(ncclGetLocalPointer(window, kFlag));
  for (unsigned phase = 1; phase <= 2; ++phase) {
    if (phase > 1 && answer && threadIdx.x == 0) {
      while (cuda::atomic_ref<unsigned>(my_flag[1]).load(cuda::memory_order_acquire) < phase - 1) {
      }
    }
    __syncthreads();
    const unsigned slot = answer ? 0 : phase - 1;
    theirs[slot * kThreads + threadIdx.x] = make_float4(phase, phase, phase, phase);  // :produce
    __syncthreads();
    if (threadIdx.x == 0) {
      const unsigned value = mode == Flags::Stale ? 1 : phase;
      if (mode == Flags::Narrow) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*their_flag);
        flag.store(value, cuda::memory_order_release);
      } else {
        cuda::atomic_ref<unsigned> flag(*their_flag);
        flag.store(value, mode == Flags::Relaxed ? cuda::memory_order_relaxed
                                                 : cuda::memory_order_release);
      }
      cuda::atomic_ref<unsigned> mine_now(*my_flag);
      while (mine_now.load(cuda::memory_order_acquire) < value) {
      }
    }
    __syncthreads();
    out[threadIdx.x] = mine[slot * kThreads + threadIdx.x];  // :consume
    __syncthreads();
    if (answer && threadIdx.x == 0) {
      cuda::atomic_ref<unsigned> flag(their_flag[1]);
      flag.store(phase, cuda::memory_order_release);
    }
  }
}

/// A message of two phases in one place, with nobody telling that it was read.
__global__ void overwrite(ncclDevComm comm, ncclWindow_t window, bool second, int* out) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  int* theirs = static_cast<int*>(ncclGetLsaPointer(window, 0, 1 - comm.lsaRank));
  const int* mine = static_cast<const int*>(ncclGetLocalPointer(window, 0));
  for (int phase = 0; phase < 2; ++phase) {
    theirs[threadIdx.x] = phase;
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    out[threadIdx.x] += mine[threadIdx.x];
    if (second) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  }
}

/// All-reduce of small pieces: everybody reads everybody's.
__global__ void reduce(
    ncclDevComm comm, ncclWindow_t window, bool wait, int rounds, bool again, double* out) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  auto* mine = static_cast<double*>(ncclGetLocalPointer(window, 0));
  for (int round = 0; round < rounds; ++round) {
    mine[threadIdx.x] = comm.lsaRank + round;  // :fill
    if (wait) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    double sum = 0;
    for (int peer = 0; peer < comm.lsaSize; ++peer)
      sum +=
          static_cast<const double*>(ncclGetLsaPointer(window, 0, peer))[threadIdx.x];  // :reduce
    out[threadIdx.x] = sum;
    if (again) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  }
}

__global__ void multicast(ncclDevComm comm, ncclWindow_t window, bool sum, bool wait, float* out) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  float* all = static_cast<float*>(ncclGetLsaMultimemPointer(window, 0, comm));
  float* mine = static_cast<float*>(ncclGetLocalPointer(window, 0));
  const int i = comm.lsaRank * kThreads + threadIdx.x;
  if (sum) {
    mine[threadIdx.x] = comm.lsaRank;
  } else {
    asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" ::"l"(all + i), "f"(1.0f)
                 : "memory");
  }
  if (wait) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  if (sum) {
    float value;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];"
                 : "=f"(value)
                 : "l"(all + threadIdx.x)
                 : "memory");
    out[threadIdx.x] = value;
  } else {
    out[threadIdx.x] = mine[((comm.lsaRank + 1) % comm.lsaSize) * kThreads + threadIdx.x];
  }
}

/// Tiles of two warps with a barrier each.
__global__ void tiles(ncclDevComm comm, bool apart) {
  const unsigned index = apart ? blockIdx.x : blockIdx.x / 2;
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), index};
  for (int i = 0; i < 2; ++i)
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void skip(ncclDevComm comm, int who) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), 0};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  if (comm.lsaRank != who) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void to_peer(ncclWindow_t window, int peer, int row) {
  int* theirs = static_cast<int*>(ncclGetLsaPointer(window, 0, peer));
  theirs[row * kThreads + threadIdx.x] = 1;  // :row
}

template <typename T>
__global__ void set(T* data, T value) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;  // :set
}

template <typename T>
__global__ void get(const T* data, T* out) {
  out[threadIdx.x] = data[threadIdx.x];  // :host_read
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  Ranks ranks(kWindow);
  const bool is_multimem = std::strstr(argv[1], "multimem") != nullptr;
  const bool is_collective = std::strstr(argv[1], "collective") || std::strstr(argv[1], "send") ||
                             std::strstr(argv[1], "result") || std::strstr(argv[1], "refilled") ||
                             std::strstr(argv[1], "loop");
  if (!is_collective) {
    ranks.make_windows(kWindow);
    ranks.make_dev(4, 0, 0, 0, is_multimem);
  }
  std::vector<void*> outs(ranks.count);
  std::vector<cudaStream_t> others(ranks.count);
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaMalloc(&outs[r], kWindow));
    CUDA(cudaMemset(outs[r], 0, kWindow));
    CUDA(cudaStreamCreateWithFlags(&others[r], cudaStreamNonBlocking));
    CUDA(cudaDeviceSynchronize());
  }
  const auto each = [&](auto&& launch) {
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      launch(r);
    }
  };
  const auto flags = [&](Flags mode, bool answer) {
    each([&](int r) {
      phases<<<1, kThreads, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], mode, answer,
                                                   static_cast<float4*>(outs[r]));
    });
  };
  if (run.is("flag_of_last_phase")) flags(Flags::Stale, false);
  if (run.is("flag_counts_phases")) flags(Flags::Counted, false);
  if (run.is("flag_without_release")) flags(Flags::Relaxed, false);
  if (run.is("flag_of_device_scope")) flags(Flags::Narrow, false);
  if (run.is("next_phase_overwrites") || run.is("next_phase_waits")) {
    each([&](int r) {
      overwrite<<<1, kThreads, 0, ranks.streams[r]>>>(
          ranks.devs[r], ranks.windows[r], run.is("next_phase_waits"), static_cast<int*>(outs[r]));
    });
  }
  const auto reduces = [&](bool wait, int rounds, bool again) {
    each([&](int r) {
      reduce<<<1, kThreads, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], wait, rounds,
                                                   again, static_cast<double*>(outs[r]));
    });
  };
  if (run.is("peers_read_before_barrier")) reduces(false, 1, true);
  if (run.is("peers_read_after_barrier")) reduces(true, 1, true);
  if (run.is("one_barrier_too_few")) reduces(true, 2, false);
  if (run.is("two_barriers")) reduces(true, 2, true);
  const auto casts = [&](bool sum, bool wait) {
    each([&](int r) {
      multicast<<<1, kThreads, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], sum, wait,
                                                      static_cast<float*>(outs[r]));
    });
  };
  if (run.is("multimem_store_unseen")) casts(false, false);
  if (run.is("multimem_store_seen")) casts(false, true);
  if (run.is("multimem_sum_too_early")) casts(true, false);
  if (run.is("multimem_sum")) casts(true, true);
  if (run.is("tiles_share_barriers") || run.is("tiles_have_barriers")) {
    each([&](int r) {
      tiles<<<4, 64, 0, ranks.streams[r]>>>(ranks.devs[r], run.is("tiles_have_barriers"));
    });
  }
  if (run.is("rank_skips_barrier")) {
    each([&](int r) { skip<<<1, 64, 0, ranks.streams[r]>>>(ranks.devs[r], 2); });
  }
  if (run.is("rank_launches_nothing") || run.is("all_ranks_launch")) {
    each([&](int r) {
      if (r == 1 && run.is("rank_launches_nothing")) return;
      skip<<<1, 64, 0, ranks.streams[r]>>>(ranks.devs[r], -1);
    });
  }
  const auto store = [&](int peer, int row) {
    CUDA(cudaSetDevice(0));
    to_peer<<<1, kThreads, 0, ranks.streams[0]>>>(ranks.windows[0], peer, row);
  };
  const int rows = kWindow / (kThreads * 4);
  if (run.is("peer_rank_outside_team")) store(2, 0);
  if (run.is("peer_rank_in_team")) store(1, 0);
  if (run.is("row_past_the_window")) store(1, rows);
  if (run.is("row_in_the_window")) store(1, rows - 1);
  if (run.is("peer_freed") || run.is("peer_freed_after_use")) {
    // Plain peer memory: another device's allocation, freed by its owner.
    CUDA(cudaSetDevice(0));
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    CUDA(cudaSetDevice(1));
    int* there = nullptr;
    CUDA(cudaMalloc(&there, 4096));
    CUDA(cudaMemset(there, 0, 4096));
    CUDA(cudaDeviceSynchronize());
    if (run.is("peer_freed")) CUDA(cudaFree(there));
    CUDA(cudaSetDevice(0));
    set<int><<<1, 64, 0, ranks.streams[0]>>>(there, 1);
    CUDA(cudaStreamSynchronize(ranks.streams[0]));
    if (run.is("peer_freed_after_use")) CUDA(cudaFree(there));
  }
  if (run.is("freed_twice")) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, 4096));
    CUDA(cudaFree(memory));
    CUDA(cudaFree(memory));
  }
  // The end of the program does both for every rank.
  if (run.is("deregistered_twice"))
    NCCL(ncclCommWindowDeregister(ranks.comms[1], ranks.windows[1]));
  if (run.is("destroyed_twice")) NCCL(ncclDevCommDestroy(ranks.comms[1], &ranks.devs[1]));
  const auto all_reduce = [&](int r, ncclDataType_t type, ncclRedOp_t op) {
    NCCL(ncclAllReduce(ranks.memory[r], outs[r], 64, type, op, ranks.comms[r], ranks.streams[r]));
  };
  if (run.is("collective_of_other_type") || run.is("collective_of_other_operator") ||
      run.is("collective_of_same_type")) {
    NCCL(ncclGroupStart());
    each([&](int r) {
      const bool odd = r == 1 && !run.is("collective_of_same_type");
      all_reduce(r, odd && run.is("collective_of_other_type") ? ncclFloat : ncclInt,
                 odd && run.is("collective_of_other_operator") ? ncclMax : ncclSum);
    });
    NCCL(ncclGroupEnd());
  }
  if (run.is("send_without_receive") || run.is("send_with_receive")) {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(ranks.memory[0], 64, ncclInt, 1, ranks.comms[0], ranks.streams[0]));
    if (run.is("send_with_receive")) {
      NCCL(ncclRecv(outs[1], 64, ncclInt, 0, ranks.comms[1], ranks.streams[1]));
    }
    NCCL(ncclGroupEnd());
  }
  if (run.is("rank_leaves_loop_early") || run.is("rank_stays_in_loop")) {
    for (int i = 0; i < 3; ++i) {
      NCCL(ncclGroupStart());
      each([&](int r) {
        if (i == 2 && r == 3 && run.is("rank_leaves_loop_early")) return;
        all_reduce(r, ncclInt, ncclSum);
      });
      NCCL(ncclGroupEnd());
    }
  }
  if (run.is("result_read_while_reducing") || run.is("result_read_after_reducing")) {
    NCCL(ncclGroupStart());
    each([&](int r) {
      NCCL(ncclAllReduce(ranks.memory[r], outs[r], 64, ncclInt, ncclSum, ranks.comms[r],
                         ranks.streams[r]));  // :reduced
    });
    NCCL(ncclGroupEnd());
    each([&](int r) {
      if (run.is("result_read_after_reducing")) CUDA(cudaStreamSynchronize(ranks.streams[r]));
      get<int>
          <<<1, 64, 0, others[r]>>>(static_cast<int*>(outs[r]), static_cast<int*>(outs[r]) + 1024);
    });
  }
  if (run.is("buffer_refilled_while_sending") || run.is("buffer_refilled_after_sending")) {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(ranks.memory[0], 64, ncclInt, 1, ranks.comms[0], ranks.streams[0]));
    NCCL(ncclRecv(outs[1], 64, ncclInt, 0, ranks.comms[1], ranks.streams[1]));
    NCCL(ncclGroupEnd());
    CUDA(cudaSetDevice(0));
    if (run.is("buffer_refilled_after_sending")) CUDA(cudaStreamSynchronize(ranks.streams[0]));
    CUDA(cudaMemsetAsync(ranks.memory[0], 1, 256, others[0]));
  }
  ranks.wait();
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(others[r]));
    CUDA(cudaFree(outs[r]));
  }
  ranks.clean_up();
  return run.end();
}
