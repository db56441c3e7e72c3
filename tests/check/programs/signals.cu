// SPDX-License-Identifier: Apache-2.0
// More of the bugs of device-initiated communication, in other code than gin.cu: rings, pipelines
// of chunks, values, specialised warps, waits in kernels of their own, counters, several contexts
// and ranks.
//
// CASE ring_source_reused source-reuse@refill/ring_put --topology ib2x1
// CASE ring_source_flushed none --topology ib2x1
// CASE chunk_source_reused source-reuse --topology ib2x1
// CASE chunk_source_counted none --topology ib2x1
// CASE wait_kernel_stale stale-signal@use/split_put --topology ib2x1
// CASE wait_kernel_fresh none --topology ib2x1
// CASE shadow_not_raised stale-signal --topology ib2x1
// CASE shadow_raised none --topology ib2x1
// CASE one_signal_of_two_senders signal-count --topology nvlink4 --ranks 3
// CASE both_signals_of_two_senders none --topology nvlink4 --ranks 3
// CASE chunks_counted_too_low signal-count --topology ib2x1
// CASE chunks_counted none --topology ib2x1
// CASE signal_to_wrong_peer lost-signal --topology nvlink4 --ranks 3
// CASE signal_to_right_peer none --topology nvlink4 --ranks 3
// CASE signal_reset_too_late lost-signal --topology ib2x1
// CASE signal_reset_before none --topology ib2x1
// CASE put_one_element_too_far outside-window@far_put --topology ib2x1
// CASE put_to_last_element none --topology ib2x1
// CASE source_past_the_window outside-window --topology ib2x1
// CASE value_without_wait unordered-read --topology ib2x1
// CASE value_after_wait none --topology ib2x1
// CASE warp_waits_block_reads unordered-read@warp_use/warp_put --topology ib2x1
// CASE warp_waits_block_meets none --topology ib2x1
// CASE signal_overtakes_other_context unordered-read --topology ib2x1
// CASE signal_of_same_context none --topology ib2x1
// CASE rail_barrier_in_one_rank lost-signal --topology ib2x1
// CASE rail_barrier_in_both none --topology ib2x1
// CASE rank_without_kernel lost-signal --topology ib2x1
// CASE rank_with_kernel none --topology ib2x1
// CASE host_copies_too_early unordered-read --topology ib2x1
// CASE host_copies_after_wait none --topology ib2x1
#include "ranks.h"

constexpr int kThreads = 128;
constexpr int kChunks = 4;
constexpr size_t kChunk = kThreads * sizeof(double);
constexpr size_t kOut = 0;
constexpr size_t kIn = 16 * kChunk;
constexpr size_t kWindow = 32 * kChunk;

template <typename T>
__device__ T* local(ncclWindow_t window, size_t offset) {
  return static_cast<T*>(ncclGetLocalPointer(window, offset));
}

/// Everybody sends to the next rank, again and again from one buffer into a place per round.
__global__ void ring(ncclDevComm comm, ncclWindow_t window, int rounds, bool flush, double* sums) {
  ncclGin gin{comm, 0};
  const int next = (comm.rank + 1) % comm.nRanks;
  double* out = local<double>(window, kOut);
  for (int round = 0; round < rounds; ++round) {
    out[threadIdx.x] = comm.rank * 100 + round;  // :refill
    gin.put(ncclTeamWorld(comm), next, window, kIn + round * kChunk, window, kOut,
            kChunk,  // :ring_put
            ncclGin_SignalInc{0}, ncclGin_None{}, ncclCoopCta());
    gin.waitSignal(ncclCoopCta(), 0, round + 1);
    sums[threadIdx.x] += local<double>(window, kIn + round * kChunk)[threadIdx.x];
    if (flush) gin.flush(ncclCoopCta());
    __syncthreads();
  }
}

enum class Reuse { AtOnce, Counted };

/// Warp 0 sends chunks while the others make the next ones in two buffers in turn.
__global__ void chunks(
    ncclDevComm comm, ncclWindow_t window, Reuse reuse, int waited, double* sums) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    for (int i = 0; i < kChunks; ++i) {
      const int buffer = i % 2;
      if (i >= 2 && reuse == Reuse::Counted) gin.waitCounter(ncclCoopCta(), buffer, i / 2);
      local<double>(window, kOut + buffer * kChunk)[threadIdx.x] = i;
      __syncthreads();
      if (threadIdx.x < 32) {
        gin.put(ncclTeamWorld(comm), 1, window, kIn + i * kChunk, window, kOut + buffer * kChunk,
                kChunk, ncclGin_SignalInc{1}, ncclGin_CounterInc{(ncclGinCounter_t)buffer},
                ncclCoopWarp());
      }
    }
    gin.flush(ncclCoopCta());
  } else {
    gin.waitSignal(ncclCoopCta(), 1, waited);
    double sum = 0;
    for (int i = 0; i < kChunks; ++i)
      sum += local<double>(window, kIn + i * kChunk)[threadIdx.x];
    sums[threadIdx.x] = sum;
  }
}

// Put, wait and use, each a kernel of its own.
__global__ void send(ncclDevComm comm, ncclWindow_t window, int signal) {
  ncclGin gin{comm, 0};
  gin.put(ncclTeamWorld(comm), 1, window, kIn, window, kOut, kChunk,  // :split_put
          ncclGin_SignalInc{(ncclGinSignal_t)signal}, ncclGin_None{}, ncclCoopCta());
  gin.flush(ncclCoopCta());
}

__global__ void wait(ncclDevComm comm, int signal, uint64_t least) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), signal, least);
}

__global__ void use(const double* in, double* sums) {
  sums[threadIdx.x] = in[threadIdx.x];  // :use
}

/// One round with the shadow; a warm-up that raises the signal and not the shadow spoils it.
__global__ void round_with_shadow(
    ncclDevComm comm, ncclWindow_t window, bool raise, bool read, double* sums) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, kIn, window, kOut, kChunk, ncclGin_SignalInc{2},
            ncclGin_None{}, ncclCoopCta());
    gin.flush(ncclCoopCta());
    return;
  }
  if (raise && threadIdx.x == 0) gin.increaseSignalShadow(2, 1);
  __syncthreads();
  if (read) {
    gin.waitSignalMeetShadow(ncclCoopCta(), 2);
    sums[threadIdx.x] = local<double>(window, kIn)[threadIdx.x];
  } else {
    gin.waitSignal(ncclCoopCta(), 2, 1);
  }
}

/// Ranks 1 and 2 send to rank 0.
__global__ void gather(
    ncclDevComm comm, ncclWindow_t window, int waited, int target, double* sums) {
  ncclGin gin{comm, 0};
  if (comm.rank != 0) {
    gin.put(ncclTeamWorld(comm), comm.rank == 1 ? target : 0, window, kIn + comm.rank * kChunk,
            window, kOut, kChunk, ncclGin_SignalAdd{0, 1}, ncclGin_None{}, ncclCoopCta());
    gin.flush(ncclCoopCta());
    return;
  }
  gin.waitSignal(ncclCoopCta(), 0, waited);
  double sum = 0;
  for (int rank = 1; rank < comm.nRanks; ++rank)
    sum += local<double>(window, kIn + rank * kChunk)[threadIdx.x];
  sums[threadIdx.x] = sum;
}

/// The receiver clears the signal of the last round: too late, the next one may have come.
__global__ void two_rounds(ncclDevComm comm, bool late) {
  ncclGin gin{comm, 0};
  if (threadIdx.x != 0) return;
  if (comm.rank == 0) {
    gin.signal(ncclTeamWorld(comm), 1, ncclGin_SignalInc{0});
    gin.waitSignal(ncclCoopThread(), 1, 1);
    gin.signal(ncclTeamWorld(comm), 1, ncclGin_SignalInc{0});
    gin.flush(ncclCoopThread());
    return;
  }
  gin.waitSignal(ncclCoopThread(), 0, 1);
  if (!late) gin.resetSignal(0);
  gin.signal(ncclTeamWorld(comm), 0, ncclGin_SignalInc{1});
  gin.flush(ncclCoopThread());
  if (late) {
    const long long begin = clock64();
    while (clock64() - begin < 200000) {
    }
    gin.resetSignal(0);
  }
  gin.waitSignal(ncclCoopThread(), 0, 1);
}

__global__ void far(ncclDevComm comm, ncclWindow_t window, size_t target, size_t source) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0 && threadIdx.x == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, target, window, source, kChunk,
            ncclGin_SignalInc{0});  // :far_put
    gin.flush(ncclCoopThread());
  }
  if (comm.rank == 1) gin.waitSignal(ncclCoopCta(), 0, 1);
}

__global__ void value(ncclDevComm comm, ncclWindow_t window, bool waits, double* sums) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    if (threadIdx.x == 0) {
      gin.putValue(ncclTeamWorld(comm), 1, window, kIn, (uint64_t)7, ncclGin_SignalInc{0});
      gin.flush(ncclCoopThread());
    }
    return;
  }
  if (waits) gin.waitSignal(ncclCoopCta(), 0, 1);
  sums[threadIdx.x] = static_cast<double>(*local<uint64_t>(window, kIn));
}

/// Warp 1 waits; without a barrier the others know nothing of it.
__global__ void specialised(ncclDevComm comm, ncclWindow_t window, bool meet, double* sums) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0) {
    local<double>(window, kOut)[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x / 32 == 2) {
      gin.put(ncclTeamWorld(comm), 1, window, kIn, window, kOut, kChunk,
              ncclGin_SignalInc{0},  // :warp_put
              ncclGin_None{}, ncclCoopWarp());
      gin.flush(ncclCoopWarp());
    }
    return;
  }
  if (threadIdx.x / 32 == 1) gin.waitSignal(ncclCoopWarp(), 0, 1);
  if (meet) __syncthreads();
  sums[threadIdx.x] = local<double>(window, kIn)[threadIdx.x];  // :warp_use
}

/// Data on one context, the signal on another: nothing orders the two.
__global__ void contexts(ncclDevComm comm, ncclWindow_t window, int other, double* sums) {
  ncclGin data{comm, 0};
  ncclGin flag{comm, other};
  if (comm.rank == 0) {
    if (threadIdx.x == 0) {
      data.put(ncclTeamWorld(comm), 1, window, kIn, window, kOut, kChunk);
      flag.signal(ncclTeamWorld(comm), 1, ncclGin_SignalInc{0});
      data.flush(ncclCoopThread());
      flag.flush(ncclCoopThread());
    }
    return;
  }
  flag.waitSignal(ncclCoopCta(), 0, 1);
  sums[threadIdx.x] = local<double>(window, kIn)[threadIdx.x];
}

__global__ void rail_barrier(ncclDevComm comm, int rounds) {
  ncclGin gin{comm, 0};
  ncclGinBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), gin, ncclTeamTagRail(), blockIdx.x};
  for (int i = 0; i < rounds; ++i)
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  Ranks ranks(kWindow);
  ranks.make_windows(kWindow);
  ranks.make_dev(1, 1, 4, 2);
  std::vector<double*> sums(ranks.count);
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaMalloc(&sums[r], kChunk));
    CUDA(cudaMemset(sums[r], 0, kChunk));
    CUDA(cudaDeviceSynchronize());
  }
  const auto on = [&](int r, auto&& launch) {
    CUDA(cudaSetDevice(r));
    launch(r, ranks.devs[r], ranks.windows[r], ranks.streams[r], sums[r]);
  };
  const auto everywhere = [&](auto&& launch) {
    for (int r = 0; r < ranks.count; ++r)
      on(r, launch);
  };
  if (run.is("ring_source_reused") || run.is("ring_source_flushed")) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      ring<<<1, kThreads, 0, stream>>>(dev, window, 3, run.is("ring_source_flushed"), sum);
    });
  }
  const auto send_chunks = [&](Reuse reuse, int waited) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      chunks<<<1, kThreads, 0, stream>>>(dev, window, reuse, waited, sum);
    });
  };
  if (run.is("chunk_source_reused")) send_chunks(Reuse::AtOnce, kChunks);
  if (run.is("chunk_source_counted")) send_chunks(Reuse::Counted, kChunks);
  if (run.is("chunks_counted_too_low")) send_chunks(Reuse::Counted, kChunks - 1);
  if (run.is("chunks_counted")) send_chunks(Reuse::Counted, kChunks);
  if (run.is("wait_kernel_stale") || run.is("wait_kernel_fresh")) {
    for (int round = 0; round < 2; ++round) {
      everywhere([&](int r, auto& dev, auto window, auto stream, double* sum) {
        if (r == 0) {
          send<<<1, kThreads, 0, stream>>>(dev, window, 3);
        } else {
          wait<<<1, kThreads, 0, stream>>>(dev, 3, run.is("wait_kernel_fresh") ? round + 1 : 1);
          use<<<1, kThreads, 0, stream>>>(
              reinterpret_cast<double*>(static_cast<char*>(ranks.memory[r]) + kIn), sum);
        }
      });
      ranks.wait();
    }
  }
  if (run.is("shadow_not_raised") || run.is("shadow_raised")) {
    for (const bool timed : {false, true}) {
      everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
        const bool raise = timed || run.is("shadow_raised");
        round_with_shadow<<<1, kThreads, 0, stream>>>(dev, window, raise, timed, sum);
      });
      ranks.wait();
    }
  }
  const auto gathers = [&](int waited, int target) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      gather<<<1, kThreads, 0, stream>>>(dev, window, waited, target, sum);
    });
  };
  if (run.is("one_signal_of_two_senders")) gathers(1, 0);
  if (run.is("both_signals_of_two_senders")) gathers(2, 0);
  if (run.is("signal_to_wrong_peer")) gathers(2, 2);
  if (run.is("signal_to_right_peer")) gathers(2, 0);
  if (run.is("signal_reset_too_late") || run.is("signal_reset_before")) {
    everywhere([&](int, auto& dev, auto, auto stream, double*) {
      two_rounds<<<1, 32, 0, stream>>>(dev, run.is("signal_reset_too_late"));
    });
  }
  const auto puts = [&](size_t target, size_t source) {
    everywhere([&](int, auto& dev, auto window, auto stream, double*) {
      far<<<1, 32, 0, stream>>>(dev, window, target, source);
    });
  };
  if (run.is("put_one_element_too_far")) puts(kWindow - kChunk + sizeof(double), kOut);
  if (run.is("put_to_last_element")) puts(kWindow - kChunk, kOut);
  if (run.is("source_past_the_window")) puts(kIn, kWindow - kChunk / 2);
  if (run.is("value_without_wait") || run.is("value_after_wait")) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      value<<<1, kThreads, 0, stream>>>(dev, window, run.is("value_after_wait"), sum);
    });
  }
  if (run.is("warp_waits_block_reads") || run.is("warp_waits_block_meets")) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      specialised<<<1, kThreads, 0, stream>>>(dev, window, run.is("warp_waits_block_meets"), sum);
    });
  }
  if (run.is("signal_overtakes_other_context") || run.is("signal_of_same_context")) {
    everywhere([&](int, auto& dev, auto window, auto stream, double* sum) {
      contexts<<<1, kThreads, 0, stream>>>(dev, window, run.is("signal_of_same_context") ? 0 : 1,
                                           sum);
    });
  }
  if (run.is("rail_barrier_in_one_rank") || run.is("rail_barrier_in_both")) {
    everywhere([&](int r, auto& dev, auto, auto stream, double*) {
      rail_barrier<<<1, 64, 0, stream>>>(dev, run.is("rail_barrier_in_both") ? 3 : 3 - r);
    });
  }
  if (run.is("rank_without_kernel") || run.is("rank_with_kernel")) {
    on(1,
       [&](int, auto& dev, auto, auto stream, double*) { wait<<<1, 32, 0, stream>>>(dev, 0, 1); });
    if (run.is("rank_with_kernel")) {
      on(0, [&](int, auto& dev, auto window, auto stream, double*) {
        send<<<1, 32, 0, stream>>>(dev, window, 0);
      });
    }
  }
  if (run.is("host_copies_too_early") || run.is("host_copies_after_wait")) {
    double host[kThreads];
    on(0, [&](int, auto& dev, auto window, auto stream, double*) {
      send<<<1, 32, 0, stream>>>(dev, window, 0);
    });
    CUDA(cudaSetDevice(1));
    if (run.is("host_copies_after_wait")) wait<<<1, 32, 0, ranks.streams[1]>>>(ranks.devs[1], 0, 1);
    CUDA(cudaMemcpyAsync(host, static_cast<char*>(ranks.memory[1]) + kIn, kChunk,
                         cudaMemcpyDeviceToHost, ranks.streams[1]));
  }
  ranks.wait();
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaFree(sums[r]));
  }
  ranks.clean_up();
  return run.end();
}
