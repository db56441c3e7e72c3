// SPDX-License-Identifier: Apache-2.0
// GIN: puts, signals, counters, flush, values, shadows, resets, several contexts, and its barriers.
#include "device.h"

namespace {

constexpr int kElements = 1024;

/// Every rank puts a block to every rank, itself included; one signal counts the arrivals.
__global__ void all_to_all(ncclDevComm comm, ncclWindow_t send, ncclWindow_t recv, int count) {
  ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(0);
  ncclGinBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), gin, ncclTeamWorld(comm),
                                             comm.railGinBarrier, blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Relaxed);
  const size_t bytes = count * sizeof(float);
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    gin.put(ncclTeamWorld(comm), peer, recv, comm.rank * bytes, send, peer * bytes, bytes,
            ncclGin_SignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, before + comm.nRanks);
  gin.flush(ncclCoopCta());
}

/// A ring on context `context`: the counter says when the source may be overwritten.
__global__ void ring(
    ncclDevComm comm, ncclWindow_t send, ncclWindow_t recv, int count, int context) {
  ncclGin gin{comm, context};
  const int next = (comm.rank + 1) % comm.nRanks;
  const size_t bytes = count * sizeof(float);
  gin.put(ncclTeamWorld(comm), next, recv, context * bytes, send, 0, bytes, ncclGin_SignalAdd{1, 5},
          ncclGin_CounterInc{0}, ncclCoopCta());
  gin.waitCounter(ncclCoopCta(), 0, 1);
  float* source = static_cast<float*>(ncclGetLocalPointer(send, 0));
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    source[i] += 1;
  gin.waitSignal(ncclCoopCta(), 1, 5);
  __syncthreads();
  if (threadIdx.x == 0) {
    gin.resetSignal(1);
    gin.resetCounter(0);
  }
}

/// Values travel inline; the shadow remembers how far the signal was consumed.
__global__ void values(ncclDevComm comm, ncclWindow_t recv) {
  ncclGin gin{comm, 0};
  const int next = (comm.rank + 1) % comm.nRanks;
  if (threadIdx.x == 0) {
    for (uint64_t i = 0; i < 4; ++i) {
      gin.putValue(ncclTeamWorld(comm), next, recv, i * 8, 0x1122334400000000ull + comm.rank + i);
    }
    gin.signal(ncclTeamWorld(comm), next, ncclGin_SignalInc{2});
    gin.increaseSignalShadow(2, 1);
  }
  __syncthreads();
  gin.waitSignalMeetShadow(ncclCoopCta(), 2);
  gin.flush(ncclCoopCta());
}

/// More puts than the queue holds: credits must come back.
__global__ void flood(ncclDevComm comm, ncclWindow_t send, ncclWindow_t recv, int puts) {
  ncclGin gin{comm, 1};
  const int next = (comm.rank + 1) % comm.nRanks;
  for (int i = threadIdx.x; i < puts; i += blockDim.x) {
    gin.put(ncclTeamWorld(comm), next, recv, i * 4, send, i * 4, 4, ncclGin_SignalInc{3});
  }
  gin.waitSignal(ncclCoopCta(), 3, puts);
  gin.flush(ncclCoopCta());
}

/// The world barrier: load/store inside a team, GIN between teams.
__global__ void world_barrier(ncclDevComm comm, ncclWindow_t window, int rounds) {
  ncclGin gin{comm, 0};
  ncclBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), ncclTeamTagWorld(), gin, blockIdx.x};
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) mine[blockIdx.x] = round + 1;
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
    if (threadIdx.x < comm.lsaSize) {
      const int* theirs = static_cast<const int*>(ncclGetLsaPointer(window, 0, threadIdx.x));
      const int seen = *const_cast<const volatile int*>(theirs + blockIdx.x);
      if (seen < round + 1) mine[100] = 1;
    }
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
  }
}

template <typename Launch>
void on_all(const std::vector<Rank>& ranks, Launch launch) {
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    launch(r);
    CUDA(cudaGetLastError());
  }
  synchronise(ranks);
}

void check_all_to_all(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const int n = static_cast<int>(ranks.size());
  const Windows send = make_windows(ranks, size_t(n) * kElements * 4);
  const Windows recv = make_windows(ranks, size_t(n) * kElements * 4);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const Rank& r : ranks) {
      std::vector<float> values(n * kElements);
      for (int i = 0; i < n * kElements; ++i) {
        values[i] = float(repeat * 1000 + r.rank * 100 + i / kElements);
      }
      CUDA(cudaMemcpy(send.memory[r.rank], values.data(), values.size() * 4,
                      cudaMemcpyHostToDevice));
    }
    on_all(ranks, [&](const Rank& r) {
      all_to_all<<<1, 64, 0, r.stream>>>(comms[r.rank], send.windows[r.rank], recv.windows[r.rank],
                                         kElements);
    });
    for (const Rank& r : ranks) {
      const auto got = download<float>(recv.memory[r.rank], size_t(n) * kElements);
      for (int i = 0; i < n * kElements; ++i) {
        EXPECT(got[i] == float(repeat * 1000 + i / kElements * 100 + r.rank));
      }
    }
  }
}

void check_ring(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const int n = static_cast<int>(ranks.size());
  const Windows send = make_windows(ranks, kElements * 4);
  const Windows recv = make_windows(ranks, 4 * kElements * 4);
  for (int context = 0; context < 4; ++context) {
    for (const Rank& r : ranks) {
      const std::vector<float> values(kElements, float(r.rank * 10 + context));
      CUDA(cudaMemcpy(send.memory[r.rank], values.data(), kElements * 4, cudaMemcpyHostToDevice));
    }
    on_all(ranks, [&](const Rank& r) {
      ring<<<1, 64, 0, r.stream>>>(comms[r.rank], send.windows[r.rank], recv.windows[r.rank],
                                   kElements, context);
    });
    for (const Rank& r : ranks) {
      const int from = (r.rank + n - 1) % n;
      const auto got = download<float>(
          static_cast<float*>(recv.memory[r.rank]) + context * kElements, kElements);
      for (float x : got)
        EXPECT(x == float(from * 10 + context));
    }
  }
}

void check_values_and_flood(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const int n = static_cast<int>(ranks.size());
  const Windows send = make_windows(ranks, kElements * 4);
  const Windows recv = make_windows(ranks, kElements * 4);
  on_all(ranks, [&](const Rank& r) {
    values<<<1, 32, 0, r.stream>>>(comms[r.rank], recv.windows[r.rank]);
  });
  for (const Rank& r : ranks) {
    const int from = (r.rank + n - 1) % n;
    const auto got = download<unsigned long long>(recv.memory[r.rank], 4);
    for (int i = 0; i < 4; ++i)
      EXPECT(got[i] == 0x1122334400000000ull + from + i);
    std::vector<int> numbers(kElements);
    for (int i = 0; i < kElements; ++i)
      numbers[i] = r.rank * 5000 + i;
    CUDA(cudaMemcpy(send.memory[r.rank], numbers.data(), kElements * 4, cudaMemcpyHostToDevice));
  }
  const int puts = 600;
  on_all(ranks, [&](const Rank& r) {
    flood<<<1, 32, 0, r.stream>>>(comms[r.rank], send.windows[r.rank], recv.windows[r.rank], puts);
  });
  for (const Rank& r : ranks) {
    const int from = (r.rank + n - 1) % n;
    const auto got = download<int>(recv.memory[r.rank], puts);
    for (int i = 0; i < puts; ++i)
      EXPECT(got[i] == from * 5000 + i);
  }
}

void check_world_barrier(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const Windows w = make_windows(ranks, 4096);
  on_all(ranks, [&](const Rank& r) {
    world_barrier<<<4, 32, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], 5);
  });
  for (const Rank& r : ranks) {
    const auto got = download<int>(w.memory[r.rank], 101);
    for (int block = 0; block < 4; ++block)
      EXPECT(got[block] == 5);
    EXPECT(got[100] == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Rank> ranks = all_ranks();
  ncclDevCommRequirements wanted = no_requirements();
  wanted.barrierCount = 4;
  wanted.ginSignalCount = 4;
  wanted.ginCounterCount = 1;
  const auto comms = make_dev_comms(ranks, wanted);
  EXPECT(comms[0].ginContextCount == 4);
  const char* only = argc > 1 ? argv[1] : "";
  const auto wants = [&](const char* name) { return *only == 0 || std::strcmp(only, name) == 0; };
  if (wants("alltoall")) check_all_to_all(ranks, comms);
  if (wants("ring")) check_ring(ranks, comms);
  if (wants("values")) check_values_and_flood(ranks, comms);
  if (wants("barrier")) check_world_barrier(ranks, comms);
  for (const Rank& r : ranks)
    NCCL(ncclDevCommDestroy(r.comm, &comms[r.rank]));
  free_all();
  std::printf("GIN on %zu ranks: ok\n", ranks.size());
}
