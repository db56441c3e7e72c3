// SPDX-License-Identifier: Apache-2.0
// What the host orders, or does not: streams, events, pools, graphs, threads, managed and peer
// memory; twins beside each.
//
// CASE fill_behind_kernel global-race@kernel/fill
// CASE fill_after_kernel none
// CASE default_stream_does_not_wait global-race@kernel/plain
// CASE default_stream_waits none
// CASE event_of_an_earlier_round global-race@kernel/plain
// CASE event_of_this_round none
// CASE threads_without_join global-race@kernel/plain
// CASE threads_with_join none
// CASE threads_by_condition none
// CASE upload_over_kernel global-race@kernel/upload
// CASE upload_after_kernel none
// CASE pool_used_before_it_is_there global-race
// CASE pool_used_after_event none
// CASE pool_freed_while_in_use use-after-free
// CASE pool_freed_after_event none
// CASE graph_copy_beside_kernel global-race
// CASE graph_copy_after_kernel none
// CASE graph_twice_on_two_streams global-race@kernel
// CASE graph_twice_in_order none
// CASE managed_two_streams global-race@kernel/plain
// CASE managed_one_stream none
// CASE peer_copy_too_early global-race@kernel/peer --ranks 2
// CASE peer_copy_after_event none --ranks 2
// CASE peer_flag_of_device_scope unordered-read@produce/consume --ranks 2
// CASE peer_flag_of_system_scope none --ranks 2
// CASE callback_orders none
// CASE priority_streams global-race@kernel/plain
// CASE copy_of_freed_memory use-after-free@copy_out/release
// CASE copy_then_free none
// CASE graph_of_freed_memory use-after-free
// CASE graph_then_free none
// CASE download_too_much out-of-bounds@too_much
// CASE download_all none
// CASE pinned_leak leak@pinned
// CASE pinned_freed none
// CASE pool_leak leak@pooled
// CASE pool_given_back none
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda/atomic>
#include <cuda_runtime.h>

#include "case.h"

constexpr int kCount = 1024;

template <typename T>
__global__ void scale(T* data, T factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * factor + T(1);  // :kernel
}

__global__ void use(const float* data, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = data[i];  // :plain
}

__global__ void produce(int* data, int* flag, bool wide) {
  data[threadIdx.x] = threadIdx.x;  // :produce
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (wide) {
    cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(1, cuda::memory_order_release);
  } else {
    cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);
  }
}

__global__ void consume(const int* data, int* flag, int* out, bool wide) {
  if (threadIdx.x == 0) {
    if (wide) {
      while (cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).load(
                 cuda::memory_order_acquire) == 0) {
      }
    } else {
      while (cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(
                 cuda::memory_order_acquire) == 0) {
      }
    }
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];  // :consume
}

struct World {
  cudaStream_t one, two;
  cudaEvent_t event;
  float *a, *b, *host;

  World() {
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMalloc(&a, kCount * 4);
    cudaMalloc(&b, kCount * 4);
    cudaMallocHost(&host, kCount * 4);
    cudaMemset(a, 0, kCount * 4);
    cudaMemset(b, 0, kCount * 4);
    cudaDeviceSynchronize();
  }
  ~World() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaEventDestroy(event);
    cudaFree(a);
    cudaFree(b);
    cudaFreeHost(host);
  }
  void work(cudaStream_t stream, float* data = nullptr) {
    scale<float><<<4, 256, 0, stream>>>(data == nullptr ? a : data, 2.0f);
  }
  void read(cudaStream_t stream, const float* data = nullptr) {
    use<<<4, 256, 0, stream>>>(data == nullptr ? a : data, b);
  }
  void order(cudaStream_t before, cudaStream_t after) {
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event);
  }
};

void stream_cases(Case& run) {
  World w;
  if (run.is("fill_behind_kernel") || run.is("fill_after_kernel")) {
    w.work(w.one);
    if (run.is("fill_after_kernel")) w.order(w.one, w.two);
    cudaMemsetAsync(w.a, 0, kCount * 4, w.two);  // :fill
  }
  if (run.is("default_stream_does_not_wait")) {
    w.work(w.one);
    w.read(nullptr);  // the stream was made not to wait for the default one
  }
  if (run.is("default_stream_waits")) {
    cudaStream_t blocking;
    cudaStreamCreate(&blocking);
    w.work(blocking);
    w.read(nullptr);
    cudaStreamSynchronize(nullptr);
    cudaStreamDestroy(blocking);
  }
  if (run.is("event_of_an_earlier_round") || run.is("event_of_this_round")) {
    for (int round = 0; round < 2; ++round) {
      w.work(w.one);
      if (round == 0 || run.is("event_of_this_round")) cudaEventRecord(w.event, w.one);
      cudaStreamWaitEvent(w.two, w.event);
      w.read(w.two);
      if (run.is("event_of_this_round")) w.order(w.two, w.one);
      if (run.is("event_of_an_earlier_round") && round == 0) cudaStreamSynchronize(w.two);
    }
  }
  if (run.is("upload_over_kernel") || run.is("upload_after_kernel")) {
    w.work(w.one);
    if (run.is("upload_after_kernel")) cudaStreamSynchronize(w.one);
    cudaMemcpyAsync(w.a, w.host, kCount * 4, cudaMemcpyHostToDevice, w.two);  // :upload
  }
  if (run.is("priority_streams")) {
    cudaStream_t urgent;
    cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -1);
    w.work(w.one);
    w.read(urgent);
    cudaDeviceSynchronize();
    cudaStreamDestroy(urgent);
  }
  if (run.is("callback_orders")) {
    w.work(w.one);
    bool done = false;
    cudaLaunchHostFunc(w.one, [](void* flag) { *static_cast<bool*>(flag) = true; }, &done);
    cudaStreamSynchronize(w.one);
    w.read(w.two);
  }
}

void thread_cases(Case& run) {
  World w;
  if (run.is("threads_without_join")) {
    std::thread first([&] { w.work(w.one); });
    std::thread second([&] { w.read(w.two); });
    first.join();
    second.join();
  }
  if (run.is("threads_with_join")) {
    std::thread first([&] {
      w.work(w.one);
      cudaStreamSynchronize(w.one);
    });
    first.join();
    std::thread second([&] { w.read(w.two); });
    second.join();
  }
  if (run.is("threads_by_condition")) {
    std::mutex mutex;
    std::condition_variable ready;
    bool is_ready = false;
    std::thread second([&] {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return is_ready; });
      w.read(w.two);
    });
    w.work(w.one);
    cudaStreamSynchronize(w.one);
    {
      const std::lock_guard lock(mutex);
      is_ready = true;
    }
    ready.notify_one();
    second.join();
  }
}

void pool_cases(Case& run) {
  World w;
  if (run.is("pool_used_before_it_is_there") || run.is("pool_used_after_event")) {
    float* pooled = nullptr;
    cudaMallocAsync(&pooled, kCount * 4, w.one);    // :pool
    cudaMemsetAsync(pooled, 0, kCount * 4, w.one);  // :pool
    if (run.is("pool_used_after_event")) w.order(w.one, w.two);
    w.read(w.two, pooled);
    w.order(w.two, w.one);
    cudaFreeAsync(pooled, w.one);
  }
  if (run.is("pool_freed_while_in_use") || run.is("pool_freed_after_event")) {
    float* pooled = nullptr;
    cudaMallocAsync(&pooled, kCount * 4, w.one);
    cudaMemsetAsync(pooled, 0, kCount * 4, w.one);
    w.order(w.one, w.two);
    w.read(w.two, pooled);
    if (run.is("pool_freed_after_event")) w.order(w.two, w.one);
    cudaFreeAsync(pooled, w.one);
  }
  if (run.is("pool_leak") || run.is("pool_given_back")) {
    float* pooled = nullptr;
    cudaMallocAsync(&pooled, kCount * 4, w.one);  // :pooled
    if (run.is("pool_given_back")) cudaFreeAsync(pooled, w.one);
  }
  if (run.is("pinned_leak") || run.is("pinned_freed")) {
    void* pinned = nullptr;
    cudaHostAlloc(&pinned, 4096, cudaHostAllocMapped);  // :pinned
    if (run.is("pinned_freed")) cudaFreeHost(pinned);
  }
}

void graph_cases(Case& run) {
  World w;
  if (run.is("graph_copy_beside_kernel") || run.is("graph_copy_after_kernel")) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(w.one, cudaStreamCaptureModeThreadLocal);
    w.order(w.one, w.two);
    w.work(w.one);
    if (run.is("graph_copy_after_kernel")) w.order(w.one, w.two);
    cudaMemcpyAsync(w.b, w.a, kCount * 4, cudaMemcpyDeviceToDevice, w.two);  // :graph_copy
    w.order(w.two, w.one);
    cudaStreamEndCapture(w.one, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3; ++i)
      cudaGraphLaunch(exec, w.one);
    cudaStreamSynchronize(w.one);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  if (run.is("graph_twice_on_two_streams") || run.is("graph_twice_in_order") ||
      run.is("graph_of_freed_memory") || run.is("graph_then_free")) {
    float* data = nullptr;
    cudaMalloc(&data, kCount * 4);
    cudaMemset(data, 0, kCount * 4);
    cudaDeviceSynchronize();
    cudaGraph_t graph;
    cudaGraphExec_t first, second;
    cudaStreamBeginCapture(w.one, cudaStreamCaptureModeThreadLocal);
    w.work(w.one, data);
    cudaStreamEndCapture(w.one, &graph);
    cudaGraphInstantiate(&first, graph, 0);
    cudaGraphInstantiate(&second, graph, 0);
    cudaGraphLaunch(first, w.one);
    if (run.is("graph_twice_in_order")) w.order(w.one, w.two);
    if (run.is("graph_of_freed_memory")) cudaFree(data);
    if (!run.is("graph_then_free")) cudaGraphLaunch(second, w.two);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(first);
    cudaGraphExecDestroy(second);
    cudaGraphDestroy(graph);
    if (!run.is("graph_of_freed_memory")) cudaFree(data);
  }
}

void memory_cases(Case& run) {
  World w;
  if (run.is("managed_two_streams") || run.is("managed_one_stream")) {
    float* managed = nullptr;
    cudaMallocManaged(&managed, kCount * 4);
    for (int i = 0; i < kCount; ++i)
      managed[i] = 1.0f;
    w.work(w.one, managed);
    w.read(run.is("managed_one_stream") ? w.one : w.two, managed);
    cudaDeviceSynchronize();
    cudaFree(managed);
  }
  if (run.is("copy_of_freed_memory") || run.is("copy_then_free")) {
    float* data = nullptr;
    cudaMalloc(&data, kCount * 4);
    cudaMemset(data, 0, kCount * 4);
    if (run.is("copy_of_freed_memory")) cudaFree(data);            // :release
    cudaMemcpy(w.host, data, kCount * 4, cudaMemcpyDeviceToHost);  // :copy_out
    if (run.is("copy_then_free")) cudaFree(data);
  }
  if (run.is("download_too_much") || run.is("download_all")) {
    std::vector<float> host(kCount + 256);
    const size_t bytes = (run.is("download_all") ? kCount : kCount + 1) * 4;
    cudaMemcpy(host.data(), w.a, bytes, cudaMemcpyDeviceToHost);  // :too_much
  }
}

void peer_cases(Case& run) {
  if (!run.is("peer_copy_too_early") && !run.is("peer_copy_after_event") &&
      !run.is("peer_flag_of_device_scope") && !run.is("peer_flag_of_system_scope")) {
    return;
  }
  cudaSetDevice(1);
  cudaDeviceEnablePeerAccess(0, 0);
  float* there = nullptr;
  int* out = nullptr;
  cudaMalloc(&there, kCount * 4);
  cudaMalloc(&out, kCount * 4);
  cudaStream_t theirs;
  cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking);
  cudaSetDevice(0);
  World w;
  if (run.is("peer_copy_too_early") || run.is("peer_copy_after_event")) {
    w.work(w.one);
    cudaEventRecord(w.event, w.one);
    cudaSetDevice(1);
    if (run.is("peer_copy_after_event")) cudaStreamWaitEvent(theirs, w.event);
    cudaMemcpyPeerAsync(there, 1, w.a, 0, kCount * 4, theirs);  // :peer
  } else {
    const bool wide = run.is("peer_flag_of_system_scope");
    int* data = reinterpret_cast<int*>(w.a);
    produce<<<1, 256, 0, w.one>>>(data, data + 512, wide);
    cudaSetDevice(1);
    consume<<<1, 256, 0, theirs>>>(data, data + 512, out, wide);
  }
  cudaSetDevice(1);
  cudaDeviceSynchronize();
  cudaStreamDestroy(theirs);
  cudaFree(there);
  cudaFree(out);
  cudaSetDevice(0);
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  stream_cases(run);
  thread_cases(run);
  pool_cases(run);
  graph_cases(run);
  memory_cases(run);
  peer_cases(run);
  return run.end();
}
