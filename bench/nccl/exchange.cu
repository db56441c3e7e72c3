// SPDX-License-Identifier: Apache-2.0
// All-gather and all-to-all through GIN, `argv[1]` bytes per rank: how long the virtual cluster
// takes and what it predicts (printed, virtual time). linearity.py makes the table of README.md
// with it:
//   cuco run --ranks 8 bench/nccl/exchange.cu -- 16777216
#include <cstdlib>

#include "../../tests/e2e/nccl/device.h"

namespace {

/// `stride` 0: everybody gets the same block (all-gather), else its own (all-to-all).
__global__ void exchange(ncclDevComm comm,
                         ncclWindow_t send,
                         ncclWindow_t recv,
                         size_t bytes,
                         size_t stride,
                         uint64_t before) {
  // `before` is the host's: to read the signal here would be a race with the peers' first puts.
  ncclGin gin{comm, 0};
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    gin.put(ncclTeamWorld(comm), peer, recv, comm.rank * bytes, send, peer * stride, bytes,
            ncclGin_SignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, before + comm.nRanks);
  gin.flush(ncclCoopCta());
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 16u << 20;
  const std::vector<Rank> ranks = all_ranks();
  const size_t n = ranks.size();
  ncclDevCommRequirements wanted = no_requirements();
  wanted.ginSignalCount = 1;
  const auto comms = make_dev_comms(ranks, wanted);
  const Windows send = make_windows(ranks, bytes);
  const Windows recv = make_windows(ranks, bytes * n);
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    CUDA(cudaMemset(send.memory[r.rank], r.rank + 1, bytes));
  }
  for (const size_t block : {bytes, bytes / n}) {
    const size_t stride = block == bytes ? 0 : block;
    cudaEvent_t start, stop;
    CUDA(cudaSetDevice(0));
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaEventRecord(start, ranks[0].stream));
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      exchange<<<1, 32, 0, r.stream>>>(comms[r.rank], send.windows[r.rank], recv.windows[r.rank],
                                       block, stride, stride == 0 ? 0 : n);
    }
    CUDA(cudaSetDevice(0));
    CUDA(cudaEventRecord(stop, ranks[0].stream));
    synchronise(ranks);
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    for (const Rank& r : ranks) {
      for (size_t from = 0; from < n; ++from) {
        char last = 0;
        CUDA(cudaMemcpy(&last, static_cast<char*>(recv.memory[r.rank]) + (from + 1) * block - 1, 1,
                        cudaMemcpyDeviceToHost));
        EXPECT(last == char(from + 1));
      }
    }
    std::printf("%s of %zu bytes on %zu ranks: predicted %.6f ms\n",
                stride == 0 ? "all-gather" : "all-to-all", bytes, n, ms);
  }
}
