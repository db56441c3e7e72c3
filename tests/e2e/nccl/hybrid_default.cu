// SPDX-License-Identifier: Apache-2.0
// An all-to-all through GIN and loads and stores, as programs build it: both GIN back ends compiled
// in, 512 threads a block, a world barrier for every block.
#include "device.h"

namespace {

constexpr int kBlocks = 8;
constexpr int kCount = 1000;

__global__ void exchange(ncclWindow_t to, ncclWindow_t from, ncclDevComm comm) {
  const ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(0);
  ncclBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), ncclTeamTagWorld(), gin, blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acquire, ncclGinFenceLevel::Relaxed);
  const ncclTeam world = ncclTeamWorld(comm);
  const ncclTeam lsa = ncclTeamLsa(comm);
  const int first = world.rank - lsa.rank;
  const int thread = threadIdx.x + blockIdx.x * blockDim.x;
  const size_t bytes = kCount * sizeof(int);
  if (thread < world.nRanks && (thread < first || thread >= first + lsa.nRanks)) {
    gin.put(world, thread, to, world.rank * bytes, from, thread * bytes, bytes,
            ncclGin_SignalInc{0});
  }
  const int* mine = static_cast<const int*>(ncclGetLocalPointer(from, 0));
  for (int i = thread; i < kCount; i += blockDim.x * gridDim.x) {
    for (int peer = 0; peer < lsa.nRanks; ++peer) {
      int* theirs = static_cast<int*>(ncclGetLsaPointer(to, 0, peer));
      theirs[world.rank * kCount + i] = mine[(first + peer) * kCount + i];
    }
  }
  // Only the block that posts: the others may have read the signal after the first puts came.
  if (blockIdx.x == 0) {
    gin.waitSignal(ncclCoopCta(), 0, before + world.nRanks - lsa.nRanks);
  }
  gin.flush(ncclCoopCta());
  barrier.sync(ncclCoopCta(), cuda::memory_order_release, ncclGinFenceLevel::Relaxed);
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  const int n = static_cast<int>(ranks.size());
  const size_t bytes = size_t(n) * kCount * sizeof(int);
  const Windows from = make_windows(ranks, bytes);
  const Windows to = make_windows(ranks, bytes);
  ncclDevCommRequirements wanted = no_requirements();
  wanted.barrierCount = kBlocks;
  wanted.ginSignalCount = 1;
  const std::vector<ncclDevComm> comms = make_dev_comms(ranks, wanted);
  for (const Rank& r : ranks) {
    std::vector<int> values(n * kCount);
    for (int i = 0; i < n * kCount; ++i)
      values[i] = r.rank * 100000 + i;
    CUDA(cudaMemcpy(from.memory[r.rank], values.data(), bytes, cudaMemcpyHostToDevice));
  }
  for (int round = 0; round < 2; ++round) {
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      exchange<<<kBlocks, 512, 0, r.stream>>>(to.windows[r.rank], from.windows[r.rank],
                                              comms[r.rank]);
      CUDA(cudaGetLastError());
    }
    synchronise(ranks);
  }
  for (const Rank& r : ranks) {
    const auto got = download<int>(to.memory[r.rank], n * kCount);
    for (int i = 0; i < n * kCount; ++i) {
      EXPECT(got[i] == i / kCount * 100000 + r.rank * kCount + i % kCount);
    }
  }
  free_all();
  std::printf("hybrid all-to-all on %d ranks: ok\n", n);
}
