// SPDX-License-Identifier: Apache-2.0
// Every GPU sends its neighbour a buffer and waits for the one that comes: by stores and a flag, or
// with the argument "gin" by a put with a signal. Then a collective of the host. The payloads are
// sent late, so that everybody has to wait.
#include <cuda/atomic>

#include "../nccl/device.h"

namespace {

constexpr int kWords = 4096;
constexpr int kFlag = kWords;  // behind the payload

__device__ void delay(long long nanoseconds) {
  unsigned long long begin = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < static_cast<unsigned long long>(nanoseconds));
}

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__global__ void by_stores(ncclDevComm comm, ncclWindow_t window) {
  const int next = (comm.lsaRank + 1) % comm.lsaSize;
  auto* there = static_cast<unsigned*>(ncclGetLsaPointer(window, 0, next));
  auto* here = static_cast<unsigned*>(ncclGetLocalPointer(window, 0));
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) delay(10000 + 5000 * comm.lsaRank);
    __syncwarp();
    for (int i = threadIdx.x; i < kWords; i += 32)
      there[i] = 100 + comm.rank;  // payload
    __threadfence_system();
    __syncwarp();
    if (threadIdx.x == 0) Flag(there[kFlag]).store(1, cuda::memory_order_release);  // flag
  } else if (threadIdx.x == 32) {
    while (Flag(here[kFlag]).load(cuda::memory_order_acquire) == 0) {  // wait
    }
  }
}

__global__ void by_put(ncclDevComm comm, ncclWindow_t window) {
  ncclGin gin{comm, 0};
  const int next = (comm.rank + 1) % comm.nRanks;
  if (blockIdx.x == 1) return gin.waitSignal(ncclCoopCta(), 0, 1);  // signal
  if (threadIdx.x == 0) delay(10000 + 5000 * comm.rank);
  __syncthreads();
  gin.put(ncclTeamWorld(comm), next, window, 0, window, (kWords + 32) * 4, kWords * 4,
          ncclGin_SignalInc{0}, ncclGin_None{}, ncclCoopCta());
}

}  // namespace

int main(int argc, char** argv) {
  const bool by_gin = argc > 1 && std::strcmp(argv[1], "gin") == 0;
  const std::vector<Rank> ranks = all_ranks();
  ncclDevCommRequirements wanted = no_requirements();
  if (by_gin) wanted.ginSignalCount = 1;
  const std::vector<ncclDevComm> comms = make_dev_comms(ranks, wanted);
  const Windows windows = make_windows(ranks, 2 * (kWords + 32) * 4);
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    if (by_gin) {
      by_put<<<2, 32, 0, r.stream>>>(comms[r.rank], windows.windows[r.rank]);
    } else {
      by_stores<<<1, 64, 0, r.stream>>>(comms[r.rank], windows.windows[r.rank]);
    }
  }
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    auto* words = static_cast<unsigned*>(windows.memory[r.rank]);
    NCCL(ncclAllReduce(words, words, kWords, ncclUint32, ncclSum, r.comm, r.stream));
  }
  NCCL(ncclGroupEnd());
  synchronise(ranks);
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    (void)download<unsigned>(windows.memory[r.rank], kWords);
  }
  std::puts("exchanged: ok");
}
