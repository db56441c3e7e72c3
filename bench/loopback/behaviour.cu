// SPDX-License-Identifier: Apache-2.0
// What a program may rely on, or gets told: streams keep CUDA's order, ranks that fill their part
// of the GPU do not starve others, and a program that hangs is ended with who waits for what.
#include <string>
#include <thread>

#include "../../tests/e2e/nccl/device.h"

namespace {

__global__ void slow_set(int* out, int value, long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
  *out = value;
}

__global__ void add(int* out, const int* in) {
  *out += *in;
}

__global__ void wait_for_signal(ncclDevComm comm, int signal) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), signal, 1);
}

/// Every block of rank 0 waits until rank 1 has put.
__global__ void wait_on_all_sms(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 0, 1);
}

__global__ void put_one(ncclDevComm comm, ncclWindow_t window, size_t bytes) {
  ncclGin gin{comm, 0};
  gin.put(ncclTeamWorld(comm), 0, window, 0, window, 0, bytes, ncclGin_SignalInc{0});
  gin.flush(ncclCoopThread());
}

/// The default stream waits for blocking streams, and they for it; others do not.
void check_order(const std::vector<Rank>& ranks) {
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    int* value = upload(r.rank, std::vector<int>{0, 0});
    for (int i = 1; i <= 20; ++i) {
      slow_set<<<1, 1, 0, r.stream>>>(value, i, 200000);
      CUDA(cudaMemcpy(value + 1, value, 4, cudaMemcpyDeviceToDevice));  // Default: after it.
      add<<<1, 1, 0, r.stream>>>(value, value + 1);                     // After that.
      EXPECT(download<int>(value, 1)[0] == 2 * i);
      slow_set<<<1, 1>>>(value, 7, 200000);
      add<<<1, 1, 0, r.stream>>>(value, value + 1);
      CUDA(cudaStreamSynchronize(r.stream));
      EXPECT(download<int>(value, 1)[0] == 7 + i);
      CUDA(cudaMemset(value, 0, 4));
    }
  }
}

/// Rank 0's kernel fills its processors until rank 1 has allocated, copied and put.
void check_full(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const Windows w = make_windows(ranks, size_t(8) << 20);
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  CUDA(cudaSetDevice(0));
  wait_on_all_sms<<<properties.multiProcessorCount * 2, 1024, 0, ranks[0].stream>>>(comms[0]);
  CUDA(cudaGetLastError());
  CUDA(cudaSetDevice(1));
  void *a, *b, *pinned;
  CUDA(cudaMalloc(&a, 4 << 20));
  CUDA(cudaMalloc(&b, 4 << 20));
  CUDA(cudaMemset(a, 1, 4 << 20));
  CUDA(cudaMemcpy(b, a, 4 << 20, cudaMemcpyDeviceToDevice));
  CUDA(cudaMallocHost(&pinned, 1 << 20));
  CUDA(cudaMemcpy(pinned, b, 1 << 20, cudaMemcpyDeviceToHost));
  EXPECT(static_cast<char*>(pinned)[77] == 1);
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(a));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(b));
  put_one<<<1, 1, 0, ranks[1].stream>>>(comms[1], w.windows[1], size_t(4) << 20);
  synchronise(ranks);
}

/// While rank 0 waits in a kernel, rank 1 makes, launches and destroys a graph.
void check_graph(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const Windows w = make_windows(ranks, 4096);
  int* value = upload(1, std::vector<int>{1, 1});
  CUDA(cudaSetDevice(0));
  wait_for_signal<<<1, 32, 0, ranks[0].stream>>>(comms[0], 0);
  CUDA(cudaSetDevice(1));
  const auto step = [](const char* what) {
    std::printf("%s\n", what);
    std::fflush(stdout);
  };
  for (int i = 0; i < 2; ++i) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    step("capture");
    CUDA(cudaStreamBeginCapture(ranks[1].stream, cudaStreamCaptureModeThreadLocal));
    add<<<1, 1, 0, ranks[1].stream>>>(value, value + 1);
    CUDA(cudaStreamEndCapture(ranks[1].stream, &graph));
    step("instantiate");
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    step("launch");
    CUDA(cudaGraphLaunch(exec, ranks[1].stream));
    step("synchronise");
    CUDA(cudaStreamSynchronize(ranks[1].stream));
    step("destroy");
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
  }
  step("download");
  EXPECT(download<int>(value, 1)[0] == 3);
  put_one<<<1, 1, 0, ranks[1].stream>>>(comms[1], w.windows[1], 64);
  synchronise(ranks);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::vector<Rank> ranks = all_ranks();
  ncclDevCommRequirements wanted = no_requirements();
  wanted.ginSignalCount = 4;
  const auto comms = make_dev_comms(ranks, wanted);
  if (what == "order") check_order(ranks);
  if (what == "full") check_full(ranks, comms);
  if (what == "graph") check_graph(ranks, comms);
  if (what == "signal") {
    wait_for_signal<<<1, 32, 0, ranks[0].stream>>>(comms[0], 3);
    CUDA(cudaStreamSynchronize(ranks[0].stream));
  }
  if (what == "collective") {
    float* memory = upload(0, std::vector<float>(64));
    NCCL(ncclAllReduce(memory, memory, 64, ncclFloat, ncclSum, ranks[0].comm, ranks[0].stream));
    CUDA(cudaStreamSynchronize(ranks[0].stream));
  }
  if (what == "setup") {
    void* memory;
    ncclWindow_t window;
    CUDA(cudaSetDevice(0));
    NCCL(ncclMemAlloc(&memory, 4096));
    NCCL(ncclCommWindowRegister(ranks[0].comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
  }
  free_all();
  std::printf("%s on %zu ranks: ok\n", what.c_str(), ranks.size());
}
