// SPDX-License-Identifier: Apache-2.0
// The warm-up raises the signal and does not count it, so the timed wait for 1 returns at once; the
// data is the same in both rounds, and the output compares equal. With -DCOUNTED it waits for 2.
#include "../nccl/device.h"

namespace {

constexpr int kElements = 4096;

__global__ void send(ncclDevComm comm, ncclWindow_t from, ncclWindow_t to, bool flush) {
  ncclGin gin{comm, 0};
  const int next = (comm.rank + 1) % comm.nRanks;
  gin.put(ncclTeamWorld(comm), next, to, 0, from, 0, kElements * 4, ncclGin_SignalInc{0},
          ncclGin_None{}, ncclCoopCta());
  if (flush) gin.flush(ncclCoopCta());
}

__global__ void receive(ncclDevComm comm, int rounds) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 0, rounds);
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  ncclDevCommRequirements wanted = no_requirements();
  wanted.ginSignalCount = 1;
  const std::vector<ncclDevComm> comms = make_dev_comms(ranks, wanted);
  const Windows from = make_windows(ranks, kElements * 4);
  const Windows to = make_windows(ranks, kElements * 4);
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    CUDA(cudaMemset(from.memory[r.rank], 1 + r.rank, kElements * 4));
    CUDA(cudaDeviceSynchronize());
  }
  for (int round = 0; round < 2; ++round) {
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      send<<<1, 32, 0, r.stream>>>(comms[r.rank], from.windows[r.rank], to.windows[r.rank],
                                   round == 0);
#ifdef COUNTED
      receive<<<1, 32, 0, r.stream>>>(comms[r.rank], round + 1);
#else
      if (round == 1) receive<<<1, 32, 0, r.stream>>>(comms[r.rank], 1);
#endif
    }
    synchronise(ranks);
  }
  int wrong = 0;
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    std::vector<int> got(kElements);
    CUDA(cudaMemcpy(got.data(), to.memory[r.rank], kElements * 4, cudaMemcpyDeviceToHost));
    const int sender = (r.rank + static_cast<int>(ranks.size()) - 1) % ranks.size();
    for (int value : got)
      wrong += value != (1 + sender) * 0x01010101;
  }
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
