// SPDX-License-Identifier: Apache-2.0
// Load/store windows between two ranks, their barriers, and collectives that do not match.
//
// CASE peer_store_read_at_once unordered-read --ranks 2
// CASE peer_store_after_barrier none --ranks 2
// CASE peer_store_relaxed_barrier unordered-read --ranks 2
// CASE peer_flag_after_fences_and_barrier none --ranks 2
// CASE peer_flag_after_fences unordered-read --ranks 2
// CASE peer_stores_of_an_earlier_kernel none --ranks 2
// CASE peer_stores_for_the_next_kernel none --ranks 2
// CASE peer_stores_not_released unordered-read --ranks 2
// CASE peer_read_of_own_store unordered-read --ranks 2
// CASE peer_read_after_barrier none --ranks 2
// CASE barrier_shared_by_blocks barrier-index --ranks 2
// CASE barrier_per_block none --ranks 2
// CASE more_blocks_on_one_rank barrier-index --ranks 2
// CASE same_blocks_everywhere none --ranks 2
// CASE more_blocks_than_barriers barrier-index --ranks 2
// CASE blocks_counted_from_one barrier-index --ranks 2
// CASE as_many_blocks_as_barriers none --ranks 2
// CASE peer_store_past_the_end out-of-bounds --ranks 2
// CASE peer_store_to_the_end none --ranks 2
// CASE other_order collective-mismatch --ranks 2
// CASE other_count collective-mismatch --ranks 2
// CASE other_root collective-mismatch --ranks 2
// CASE rank_never_calls collective-mismatch --ranks 2
// CASE same_calls none --ranks 2
// CASE gather_on_other_stream global-race --ranks 2
// CASE gather_after_event none --ranks 2
// CASE result_on_other_stream global-race --ranks 2
// CASE result_after_event none --ranks 2
#include "ranks.h"

constexpr int kCount = 256;
constexpr size_t kWindow = 8 * kCount * sizeof(int);

/// Every rank stores to its peer, and reads what the peer stored.
__global__ void store_to_peer(ncclDevComm comm, ncclWindow_t window, int mode, int* out) {
  const int peer = 1 - comm.lsaRank;
  int* theirs = static_cast<int*>(ncclGetLsaPointer(window, 0, peer));
  const int* mine = static_cast<const int*>(ncclGetLocalPointer(window, 0));
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  theirs[threadIdx.x] = comm.lsaRank + 1;
  if (mode == 1) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  if (mode == 2) barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  out[threadIdx.x] = mine[threadIdx.x];
}

/// All threads store and fence, one raises a flag; one looks at it, all fence and read.
__global__ void tell_peer(ncclDevComm comm, ncclWindow_t window, bool meet, int* out) {
  int* theirs = static_cast<int*>(ncclGetLsaPointer(window, 0, 1 - comm.lsaRank));
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  theirs[threadIdx.x] = comm.lsaRank + 1;
  __threadfence_system();
  if (meet) __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile int*>(theirs + kCount) = 1;
  if (threadIdx.x == 0) {
    while (*static_cast<volatile int*>(mine + kCount) == 0) {
    }
  }
  __syncthreads();
  __threadfence_system();
  out[threadIdx.x] = mine[threadIdx.x];
}

/// As NCCL's examples have it: the orders that suffice between kernels.
__global__ void sum_of_peers(ncclDevComm comm, ncclWindow_t window, bool release) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  int sum = 0;
  for (int peer = 0; peer < comm.lsaSize; ++peer)
    sum += static_cast<const int*>(ncclGetLsaPointer(window, 0, peer))[threadIdx.x];
  for (int peer = 0; peer < comm.lsaSize; ++peer) {
    if (threadIdx.x % comm.lsaSize != comm.lsaRank) continue;
    static_cast<int*>(ncclGetLsaPointer(window, 0, peer))[kCount + threadIdx.x] = sum;
  }
  if (release) barrier.sync(ncclCoopCta(), cuda::memory_order_release);
}

/// Every rank stores to its own window, and reads its peer's.
__global__ void read_from_peer(ncclDevComm comm, ncclWindow_t window, bool wait, int* out) {
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  const int* theirs = static_cast<const int*>(ncclGetLsaPointer(window, 0, 1 - comm.lsaRank));
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  mine[threadIdx.x] = comm.lsaRank + 1;
  if (wait) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  out[threadIdx.x] = theirs[threadIdx.x];
}

__global__ void only_barriers(ncclDevComm comm, unsigned step, unsigned first = 0) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(),
                                             first + step * blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void store_at(ncclDevComm comm, ncclWindow_t window, size_t first) {
  int* theirs = static_cast<int*>(ncclGetLsaPointer(window, 0, 1 - comm.lsaRank));
  theirs[first + threadIdx.x] = 1;
}

__global__ void fill(int* data, int value) {
  data[threadIdx.x] = value;
}

__global__ void copy(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  Ranks ranks(kWindow);
  const bool uses_windows =
      std::strstr(argv[1], "peer") != nullptr || std::strstr(argv[1], "block") != nullptr;
  if (uses_windows) {
    ranks.make_windows(kWindow);
    ranks.make_dev(4, 0, 0, 0);
  }
  std::vector<int*> outs(ranks.count);
  std::vector<int*> gathered(ranks.count);
  std::vector<cudaStream_t> others(ranks.count);
  std::vector<cudaEvent_t> events(ranks.count);
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaMalloc(&outs[r], kWindow));
    CUDA(cudaMalloc(&gathered[r], kWindow));
    CUDA(cudaMemset(outs[r], 0, kWindow));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamCreateWithFlags(&others[r], cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&events[r]));
  }
  const auto each = [&](auto&& f) {
    for (int r = 0; r < ranks.count; ++r) {
      CUDA(cudaSetDevice(r));
      f(r);
    }
  };
  const auto stores = [&](int mode) {
    each([&](int r) {
      store_to_peer<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], mode,
                                                        outs[r]);
    });
  };
  if (run.is("peer_store_read_at_once")) stores(0);
  if (run.is("peer_store_after_barrier")) stores(1);
  if (run.is("peer_store_relaxed_barrier")) stores(2);
  const bool meets = run.is("peer_flag_after_fences_and_barrier");
  if (meets || run.is("peer_flag_after_fences")) {
    each([&](int r) {
      tell_peer<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], meets,
                                                    outs[r]);
    });
  }
  const bool last = run.is("peer_stores_not_released");
  if (last || run.is("peer_stores_of_an_earlier_kernel") ||
      run.is("peer_stores_for_the_next_kernel")) {
    each([&](int r) {
      int* mine = static_cast<int*>(ranks.memory[r]);
      fill<<<1, kCount, 0, ranks.streams[r]>>>(mine, r);
      sum_of_peers<<<1, kCount, 0, ranks.streams[r]>>>(ranks.devs[r], ranks.windows[r], !last);
      if (!run.is("peer_stores_of_an_earlier_kernel"))
        copy<<<1, kCount, 0, ranks.streams[r]>>>(outs[r], mine + kCount);
    });
  }
  if (run.is("peer_read_of_own_store") || run.is("peer_read_after_barrier")) {
    each([&](int r) {
      read_from_peer<<<1, kCount, 0, ranks.streams[r]>>>(
          ranks.devs[r], ranks.windows[r], run.is("peer_read_after_barrier"), outs[r]);
    });
  }
  if (run.is("barrier_shared_by_blocks") || run.is("barrier_per_block")) {
    each([&](int r) {
      only_barriers<<<2, 64, 0, ranks.streams[r]>>>(ranks.devs[r],
                                                    run.is("barrier_shared_by_blocks") ? 0 : 1);
    });
  }
  const bool one_more = run.is("more_blocks_than_barriers");
  const bool from_one = run.is("blocks_counted_from_one");
  if (one_more || from_one || run.is("as_many_blocks_as_barriers")) {
    each([&](int r) {
      only_barriers<<<one_more ? 5 : 4, 64, 0, ranks.streams[r]>>>(ranks.devs[r], 1, from_one);
    });
  }
  if (run.is("more_blocks_on_one_rank") || run.is("same_blocks_everywhere")) {
    each([&](int r) {
      const int blocks = run.is("same_blocks_everywhere") ? 3 : 2 + r;
      only_barriers<<<blocks, 64, 0, ranks.streams[r]>>>(ranks.devs[r], 1);
    });
  }
  if (run.is("peer_store_past_the_end") || run.is("peer_store_to_the_end")) {
    const size_t end = kWindow / sizeof(int) - kCount;
    CUDA(cudaSetDevice(0));
    store_at<<<1, kCount, 0, ranks.streams[0]>>>(ranks.devs[0], ranks.windows[0],
                                                 run.is("peer_store_to_the_end") ? end : end + 1);
  }
  const auto collective = [&](int r, int call, size_t count, int root) {
    if (call == 0) {
      NCCL(ncclAllReduce(ranks.memory[r], outs[r], count, ncclInt, ncclSum, ranks.comms[r],
                         ranks.streams[r]));
    } else {
      NCCL(ncclBroadcast(ranks.memory[r], outs[r], count, ncclInt, root, ranks.comms[r],
                         ranks.streams[r]));
    }
  };
  if (run.is("other_order") || run.is("other_count") || run.is("other_root") ||
      run.is("same_calls") || run.is("rank_never_calls")) {
    NCCL(ncclGroupStart());
    each([&](int r) {
      if (run.is("rank_never_calls") && r == 1) return;
      const int first = run.is("other_order") && r == 1 ? 1 : 0;
      collective(r, first, run.is("other_count") ? 64 + r : 64, 0);
      collective(r, 1 - first, 64, run.is("other_root") ? r : 0);
    });
    NCCL(ncclGroupEnd());
  }
  if (run.is("gather_on_other_stream") || run.is("gather_after_event")) {
    each([&](int r) {
      fill<<<1, kCount, 0, others[r]>>>(outs[r], r);
      CUDA(cudaEventRecord(events[r], others[r]));
      if (run.is("gather_after_event")) CUDA(cudaStreamWaitEvent(ranks.streams[r], events[r]));
    });
    NCCL(ncclGroupStart());
    each([&](int r) {
      NCCL(ncclAllGather(outs[r], gathered[r], kCount, ncclInt, ranks.comms[r], ranks.streams[r]));
    });
    NCCL(ncclGroupEnd());
  }
  if (run.is("result_on_other_stream") || run.is("result_after_event")) {
    NCCL(ncclGroupStart());
    each([&](int r) {
      NCCL(ncclAllGather(outs[r], gathered[r], kCount, ncclInt, ranks.comms[r], ranks.streams[r]));
    });
    NCCL(ncclGroupEnd());
    each([&](int r) {
      CUDA(cudaEventRecord(events[r], ranks.streams[r]));
      if (run.is("result_after_event")) CUDA(cudaStreamWaitEvent(others[r], events[r]));
      copy<<<1, kCount, 0, others[r]>>>(outs[r] + kCount, gathered[r]);
    });
  }
  ranks.wait();
  for (int r = 0; r < ranks.count; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventDestroy(events[r]));
    CUDA(cudaStreamDestroy(others[r]));
    CUDA(cudaFree(outs[r]));
    CUDA(cudaFree(gathered[r]));
  }
  ranks.clean_up();
  return run.end();
}
