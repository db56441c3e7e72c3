// SPDX-License-Identifier: Apache-2.0
// How long communication takes in virtual time, for device_time.py to compare with what others have
// published: flags, GIN, all-reduces by kernels, and NCCL's own from one thread, from a thread per
// GPU and from a graph. Each line: what, bytes, microseconds.
#include <thread>

#include <pthread.h>

#include "device.h"

namespace {

constexpr int kBlocks = 32;
constexpr int kThreads = 512;
constexpr int kRanks = 8;
constexpr int kRounds = 2;
constexpr size_t kMost = 32 << 20;

pthread_barrier_t everybody;

/// Two ranks, one thread each: a flag there and back.
__global__ void flags(ncclDevComm comm, ncclWindow_t window, int rounds) {
  if (comm.rank > 1) return;
  volatile int* mine = static_cast<volatile int*>(ncclGetLocalPointer(window, 0));
  volatile int* theirs = static_cast<volatile int*>(ncclGetLsaPointer(window, 0, 1 - comm.rank));
  for (int i = 1; i <= rounds; ++i) {
    if (comm.rank == 0) *theirs = i;
    while (*mine != i) {
    }
    if (comm.rank == 1) *theirs = i;
  }
}

__global__ void gin_flags(ncclDevComm comm, ncclWindow_t window, int rounds) {
  if (comm.rank > 1) return;
  ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(0);
  for (int i = 1; i <= rounds; ++i) {
    if (comm.rank == 1) gin.waitSignal(ncclCoopThread(), 0, before + i);
    gin.put(ncclTeamWorld(comm), 1 - comm.rank, window, 64, window, 0, 4, ncclGin_SignalInc{0});
    if (comm.rank == 0) gin.waitSignal(ncclCoopThread(), 0, before + i);
  }
}

/// Each rank reduces its share in the switch and multicasts it.
__global__ void multimem(ncclDevComm comm, ncclWindow_t window, size_t vectors) {
#if __CUDA_ARCH__ >= 900
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x,
                                             /*multimem=*/true};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  const size_t share = vectors / comm.lsaSize;
  float4* all =
      static_cast<float4*>(ncclGetLsaMultimemPointer(window, 0, comm)) + share * comm.lsaRank;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < share; i += gridDim.x * blockDim.x) {
    float4 x;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "l"(all + i)
                 : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(all + i),
                 "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
                 : "memory");
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
}

/// Each rank loads its share from all others, adds up and stores it to all.
__global__ void two_shot(ncclDevComm comm, ncclWindow_t window, size_t vectors) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
  const size_t share = vectors / kRanks;
  float4* theirs[kRanks];
#pragma unroll
  for (int p = 0; p < kRanks; ++p) {
    theirs[p] = static_cast<float4*>(ncclGetLsaPointer(
        window, share * comm.lsaRank * sizeof(float4), (comm.lsaRank + p) % kRanks));
  }
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < share; i += gridDim.x * blockDim.x) {
    float4 x[kRanks];
#pragma unroll
    for (int p = 0; p < kRanks; ++p)
      x[p] = theirs[p][i];
#pragma unroll
    for (int p = 1; p < kRanks; ++p)
      x[0] = {x[0].x + x[p].x, x[0].y + x[p].y, x[0].z + x[p].z, x[0].w + x[p].w};
#pragma unroll
    for (int p = 0; p < kRanks; ++p)
      theirs[p][i] = x[0];
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

/// Microseconds of each of `count` rounds of work on a stream, one round done before.
template <typename Work>
double time_of(const Rank& r, int count, Work work) {
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  work();
  CUDA(cudaEventRecord(begin, r.stream));
  for (int i = 0; i < count; ++i)
    work();
  CUDA(cudaEventRecord(end, r.stream));
  CUDA(cudaEventSynchronize(end));
  float milliseconds = 0;
  CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  pthread_barrier_wait(&everybody);
  return milliseconds * 1e3 / count;
}

void print(const Rank& r, const char* what, size_t bytes, double microseconds) {
  if (r.rank == 0) std::printf("%s %zu %.2f\n", what, bytes, microseconds);
}

void by_kernels(const Rank& r, const ncclDevComm& comm, ncclWindow_t window) {
  constexpr int kTrips = 20;
  print(r, "flag_round_trip", 4,
        time_of(r, 1, [&] { flags<<<1, 1, 0, r.stream>>>(comm, window, kTrips); }) / kTrips);
  print(r, "gin_round_trip", 4,
        time_of(r, 1, [&] { gin_flags<<<1, 1, 0, r.stream>>>(comm, window, kTrips); }) / kTrips);
  for (size_t bytes = 512 << 10; bytes <= kMost; bytes *= 2) {
    print(r, "multimem", bytes, time_of(r, kRounds, [&] {
            multimem<<<kBlocks, kThreads, 0, r.stream>>>(comm, window, bytes / 16);
          }));
    if (bytes > kMost / 4) continue;  // It takes its time.
    print(r, "two_shot", bytes, time_of(r, kRounds, [&] {
            two_shot<<<kBlocks, kThreads, 0, r.stream>>>(comm, window, bytes / 16);
          }));
  }
}

void by_nccl(const Rank& r, float* data) {
  for (size_t bytes : {1 << 10, 64 << 10, 4 << 20, 16 << 20}) {
    const size_t count = bytes / sizeof(float);
    const auto all_reduce = [&] {
      NCCL(ncclAllReduce(data, data, count, ncclFloat, ncclSum, r.comm, r.stream));
    };
    print(r, "all_reduce_threads", bytes, time_of(r, kRounds, all_reduce));
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kRounds; ++i)
      all_reduce();
    CUDA(cudaStreamEndCapture(r.stream, &graph));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    print(r, "all_reduce_graph", bytes,
          time_of(r, 2, [&] { CUDA(cudaGraphLaunch(replay, r.stream)); }) / kRounds);
    print(r, "send_receive", bytes, time_of(r, kRounds, [&] {
            NCCL(ncclGroupStart());
            NCCL(ncclSend(data, count, ncclFloat, (r.rank + 1) % kRanks, r.comm, r.stream));
            NCCL(ncclRecv(data + kMost / 8, count, ncclFloat, (r.rank + kRanks - 1) % kRanks,
                          r.comm, r.stream));
            NCCL(ncclGroupEnd());
          }));
  }
}

void from_one_thread(const std::vector<Rank>& ranks, const std::vector<float*>& memory) {
  const auto all_reduce = [&] {
    NCCL(ncclGroupStart());
    for (const Rank& r : ranks) {
      NCCL(
          ncclAllReduce(memory[r.rank], memory[r.rank], 256, ncclFloat, ncclSum, r.comm, r.stream));
    }
    NCCL(ncclGroupEnd());
  };
  pthread_barrier_destroy(&everybody);
  pthread_barrier_init(&everybody, nullptr, 1);
  CUDA(cudaSetDevice(0));
  print(ranks[0], "all_reduce_one_thread", 1024, time_of(ranks[0], kRounds, all_reduce));
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  const Windows windows = make_windows(ranks, kMost);
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = kBlocks;
  wanted.lsaMultimem = true;
  wanted.ginForceEnable = true;
  wanted.ginSignalCount = 1;
  const auto comms = make_dev_comms(ranks, wanted);
  EXPECT(ranks.size() == kRanks);
  std::vector<float*> plain;  // In no window: NCCL has other kernels for those.
  for (const Rank& r : ranks)
    plain.push_back(upload(r.rank, std::vector<float>(kMost / sizeof(float))));
  pthread_barrier_init(&everybody, nullptr, ranks.size());
  std::vector<std::thread> threads;
  for (const Rank& r : ranks) {
    threads.emplace_back([&, r] {
      CUDA(cudaSetDevice(r.rank));
      by_kernels(r, comms[r.rank], windows.windows[r.rank]);
      by_nccl(r, plain[r.rank]);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  from_one_thread(ranks, plain);
  free_all();
  std::printf("device_time: ok\n");
}
