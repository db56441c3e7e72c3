// SPDX-License-Identifier: Apache-2.0
// NCCL calls captured into CUDA graphs: collectives and sends with a kernel before and after them,
// on one stream and forked to another, replayed, and mixed with calls that are not captured.
#include "check.h"

namespace {

constexpr int kCount = 1000;

__global__ void add(float* data, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) data[i] += value;
}

struct Captured {
  cudaGraphExec_t exec = nullptr;
  float* data = nullptr;
  float* peer = nullptr;
};

/// data += 1; data = sum over ranks; peer = the left neighbour's data; all in one graph.
Captured capture(const Rank& r, int ranks, cudaStream_t side) {
  Captured made;
  made.data = upload(r.rank, std::vector<float>(kCount, float(r.rank)));
  made.peer = upload(r.rank, std::vector<float>(kCount, -1.0f));
  cudaEvent_t fork, join;
  CUDA(cudaEventCreate(&fork));
  CUDA(cudaEventCreate(&join));
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
  add<<<(kCount + 255) / 256, 256, 0, r.stream>>>(made.data, 1.0f);
  NCCL(ncclAllReduce(made.data, made.data, kCount, ncclFloat, ncclSum, r.comm, r.stream));
  CUDA(cudaEventRecord(fork, r.stream));
  CUDA(cudaStreamWaitEvent(side, fork));
  NCCL(ncclGroupStart());
  NCCL(ncclSend(made.data, kCount, ncclFloat, (r.rank + 1) % ranks, r.comm, side));
  NCCL(ncclRecv(made.peer, kCount, ncclFloat, (r.rank + ranks - 1) % ranks, r.comm, side));
  NCCL(ncclGroupEnd());
  CUDA(cudaEventRecord(join, side));
  CUDA(cudaStreamWaitEvent(r.stream, join));
  add<<<(kCount + 255) / 256, 256, 0, r.stream>>>(made.data, float(r.rank));
  CUDA(cudaStreamEndCapture(r.stream, &graph));
  CUDA(cudaGraphInstantiate(&made.exec, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return made;
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  const int n = static_cast<int>(ranks.size());
  std::vector<Captured> captured;
  for (const Rank& r : ranks) {
    cudaStream_t side;
    CUDA(cudaSetDevice(r.rank));
    CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    captured.push_back(capture(r, n, side));
  }
  // Nothing has been done so far.
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    EXPECT(download<float>(captured[r.rank].data, 1)[0] == float(r.rank));
  }
  std::vector<float> expected(n);
  for (int r = 0; r < n; ++r)
    expected[r] = float(r);
  for (int round = 0; round < 3; ++round) {
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      CUDA(cudaGraphLaunch(captured[r.rank].exec, r.stream));
    }
    // A call between two replays keeps its place in the order.
    NCCL(ncclGroupStart());
    for (const Rank& r : ranks) {
      NCCL(ncclAllReduce(captured[r.rank].peer, captured[r.rank].peer, kCount, ncclFloat, ncclMax,
                         r.comm, r.stream));
    }
    NCCL(ncclGroupEnd());
    synchronise(ranks);
    float sum = 0;
    for (float value : expected)
      sum += value + 1.0f;
    for (int r = 0; r < n; ++r)
      expected[r] = sum + float(r);
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      EXPECT(download<float>(captured[r.rank].data + 999, 1)[0] == expected[r.rank]);
      EXPECT(download<float>(captured[r.rank].peer + 7, 1)[0] == sum);
    }
  }
  // Wrong arguments are refused when captured, and leave the capture alive.
  cudaGraph_t graph;
  CUDA(cudaSetDevice(0));
  CUDA(cudaStreamBeginCapture(ranks[0].stream, cudaStreamCaptureModeRelaxed));
  EXPECT(ncclBroadcast(captured[0].data, captured[0].data, 1, ncclFloat, 99, ranks[0].comm,
                       ranks[0].stream) == ncclInvalidArgument);
  CUDA(cudaStreamEndCapture(ranks[0].stream, &graph));
  for (const Rank& r : ranks)
    CUDA(cudaGraphExecDestroy(captured[r.rank].exec));
  for (const Rank& r : ranks)
    NCCL(ncclCommDestroy(r.comm));
  free_all();
  std::printf("graphs on %d ranks: ok\n", n);
}
