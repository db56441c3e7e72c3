// SPDX-License-Identifier: Apache-2.0
// What it costs a GPU to go from one piece of queued work to the next: the [launch] section of
// hardware/*.toml. Everything is queued behind a kernel that waits, so that the host's own pace
// does not show.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

__global__ void empty() {}

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}

// Runs until it has spent about `cycles`: one block, so that it does not hide what follows.
__global__ void busy(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Gate {
  int* host;
  int* device;
  Gate() {
    cudaHostAlloc(&host, sizeof(int), cudaHostAllocMapped);
    cudaHostGetDevicePointer(&device, host, 0);
  }
};

// GPU microseconds from the opening of the gate until all that `enqueue` queued is done.
template <typename Enqueue>
double gpu_us(Enqueue enqueue) {
  static Gate gate;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    *(volatile int*)gate.host = 0;
    wait_for<<<1, 1, 0, stream>>>(gate.device);
    cudaEventRecord(begin, stream);
    enqueue(stream);
    cudaEventRecord(end, stream);
    *(volatile int*)gate.host = 1;
    cudaStreamSynchronize(stream);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms * 1000);
  }
  cudaStreamDestroy(stream);
  return median(times);
}

template <typename Work>
double host_us(Work work) {
  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    cudaDeviceSynchronize();
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  cudaDeviceSynchronize();
  return median(times);
}

// Per piece of work: the slope between few and many, which has neither events nor gate in it.
template <typename Enqueue>
double slope_us(Enqueue enqueue) {
  const auto times = [&](int count) {
    return gpu_us([&](cudaStream_t s) {
      for (int i = 0; i < count; ++i)
        enqueue(s);
    });
  };
  return (times(60) - times(10)) / 50;
}

}  // namespace

int main() {
  char *from, *to;
  cudaMalloc(&from, 1 << 24);
  cudaMalloc(&to, 1 << 24);
  empty<<<1, 32>>>();
  busy<<<1, 32>>>(10);
  cudaDeviceSynchronize();

  std::printf("{\n");
  const auto field = [](const char* name, double value) {
    std::printf("  \"%s\": %.3f,\n", name, value);
  };
  field("one_empty_kernel_between_events_us",
        gpu_us([](cudaStream_t s) { empty<<<1, 32, 0, s>>>(); }));
  field("nothing_between_events_us", gpu_us([](cudaStream_t) {}));
  field("one_memset_between_events_us",
        gpu_us([&](cudaStream_t s) { cudaMemsetAsync(to, 0, 4096, s); }));
  field("one_copy_between_events_us", gpu_us([&](cudaStream_t s) {
          cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, s);
        }));
  cudaEvent_t timed, untimed;
  cudaEventCreate(&timed);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  field("queued_timed_event_us", slope_us([&](cudaStream_t s) { cudaEventRecord(timed, s); }));
  field("queued_untimed_event_us", slope_us([&](cudaStream_t s) { cudaEventRecord(untimed, s); }));
  field("queued_kernel_and_timed_event_us", slope_us([&](cudaStream_t s) {
          empty<<<1, 32, 0, s>>>();
          cudaEventRecord(timed, s);
        }));
  field("queued_kernel_and_untimed_event_us", slope_us([&](cudaStream_t s) {
          empty<<<1, 32, 0, s>>>();
          cudaEventRecord(untimed, s);
        }));
  field("queued_empty_kernel_us", slope_us([](cudaStream_t s) { empty<<<1, 32, 0, s>>>(); }));
  field("queued_empty_132_blocks_us",
        slope_us([](cudaStream_t s) { empty<<<132, 256, 0, s>>>(); }));
  for (const int cycles : {2000, 8000, 20000}) {
    char name[64];
    std::snprintf(name, sizeof(name), "queued_busy_%d_cycles_us", cycles);
    field(name, slope_us([=](cudaStream_t s) { busy<<<1, 32, 0, s>>>(cycles); }));
  }
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t there, back;
  cudaEventCreateWithFlags(&there, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&back, cudaEventDisableTiming);
  field("queued_kernel_on_other_stream_and_back_us", slope_us([&](cudaStream_t s) {
          cudaEventRecord(there, s);
          cudaStreamWaitEvent(other, there, 0);
          empty<<<1, 32, 0, other>>>();
          cudaEventRecord(back, other);
          cudaStreamWaitEvent(s, back, 0);
          empty<<<1, 32, 0, s>>>();
        }));
  field("queued_copy_4KiB_us", slope_us([&](cudaStream_t s) {
          cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, s);
        }));
  field("queued_copy_16MiB_us", slope_us([&](cudaStream_t s) {
          cudaMemcpyAsync(to, from, 1 << 24, cudaMemcpyDeviceToDevice, s);
        }));
  field("queued_memset_4KiB_us",
        slope_us([&](cudaStream_t s) { cudaMemsetAsync(to, 0, 4096, s); }));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStream_t capture;
  cudaStreamCreateWithFlags(&capture, cudaStreamNonBlocking);
  cudaStreamBeginCapture(capture, cudaStreamCaptureModeRelaxed);
  for (int i = 0; i < 20; ++i)
    empty<<<1, 32, 0, capture>>>();
  cudaStreamEndCapture(capture, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphUpload(exec, capture);
  cudaStreamSynchronize(capture);
  field("graph_of_20_empty_us", gpu_us([&](cudaStream_t s) { cudaGraphLaunch(exec, s); }));

  field("host_launch_us", host_us([] { empty<<<1, 32>>>(); }));
  field("host_launch_and_sync_us", host_us([] {
          empty<<<1, 32>>>();
          cudaDeviceSynchronize();
        }));
  field("host_event_record_us", host_us([&] { cudaEventRecord(there, nullptr); }));
  field("host_timed_event_record_us", host_us([&] { cudaEventRecord(timed, nullptr); }));
  field("host_memset_4KiB_us", host_us([&] { cudaMemsetAsync(to, 0, 4096, nullptr); }));
  field("host_copy_4KiB_us",
        host_us([&] { cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, nullptr); }));
  char* pinned;
  cudaMallocHost(&pinned, 1 << 20);
  std::vector<char> pageable(1 << 20);
  for (const int kib : {4, 256}) {
    char name[64];
    const auto both = [&](const char* what, void* host) {
      std::snprintf(name, sizeof(name), "host_%s_to_device_%dKiB_us", what, kib);
      field(name, host_us([&] {
              cudaMemcpyAsync(to, host, kib * 1024, cudaMemcpyHostToDevice, nullptr);
            }));
      std::snprintf(name, sizeof(name), "host_device_to_%s_%dKiB_us", what, kib);
      field(name, host_us([&] {
              cudaMemcpyAsync(host, to, kib * 1024, cudaMemcpyDeviceToHost, nullptr);
            }));
    };
    both("pinned", pinned);
    both("pageable", pageable.data());
  }
  field("host_copy_of_pageable_4KiB_us",
        host_us([&] { cudaMemcpy(to, pageable.data(), 4096, cudaMemcpyHostToDevice); }));
  field("host_copy_to_pageable_4KiB_us",
        host_us([&] { cudaMemcpy(pageable.data(), to, 4096, cudaMemcpyDeviceToHost); }));
  // Back to back, as in a loop that never waits.
  const auto many = [&](auto work) {
    return host_us([&] {
             for (int i = 0; i < 100; ++i)
               work();
           }) /
           100;
  };
  field("host_launch_of_100_us", many([] { empty<<<1, 32>>>(); }));
  field("host_memset_of_100_us", many([&] { cudaMemsetAsync(to, 0, 4096, nullptr); }));
  field("host_copy_of_100_us",
        many([&] { cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, nullptr); }));
  field("host_launch_and_event_sync_us", host_us([&] {
          empty<<<1, 32>>>();
          cudaEventRecord(timed, nullptr);
          cudaEventSynchronize(timed);
        }));
  field("host_memset_and_sync_us", host_us([&] {
          cudaMemsetAsync(to, 0, 4096, nullptr);
          cudaDeviceSynchronize();
        }));
  field("host_sync_idle_us", host_us([] { cudaDeviceSynchronize(); }));
  std::printf("  \"error\": \"%s\"\n}\n", cudaGetErrorString(cudaGetLastError()));
  return 0;
}
