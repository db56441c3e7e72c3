// SPDX-License-Identifier: Apache-2.0
// Memory that the host shares with devices: what host code reads and writes of it, with and without
// a call that orders it.
//
// CASE read_before_sync global-race@download/read
// CASE read_after_sync none
// CASE read_after_event none
// CASE read_after_query none
// CASE read_other_half none
// CASE copy_before_sync global-race@download/host_copy
// CASE copy_after_sync none
// CASE managed_before_sync global-race@kernel/managed
// CASE managed_after_sync none
// CASE variable_before_sync global-race@variable/managed
// CASE variable_after_sync none
// CASE write_under_upload global-race@upload/refill
// CASE two_buffers_in_turn none
// CASE write_under_kernel global-race@mapped_read/refill
// CASE write_after_kernel none
// CASE poll_fenced_flag none
// CASE poll_flag_without_fence global-race@unfenced/polled
// CASE poll_flag_and_print_it none
// CASE poll_atomic_flag none
// CASE raise_flag_for_kernel none
// CASE callback_says_so none
// CASE thread_says_so none
// CASE progress_by_atomics none
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda/atomic>
#include <cuda_runtime.h>

#include "case.h"

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);

__device__ __managed__ int shared_variable[kCount];
int sum = 0;  // What was read is used.

__global__ void fill(int* data) {
  data[threadIdx.x] = threadIdx.x;  // :kernel
}

__global__ void fill_variable() {
  shared_variable[threadIdx.x] = threadIdx.x;  // :variable
}

__global__ void add(const int* data, int* out) {
  out[threadIdx.x] += data[threadIdx.x];  // :mapped_read
}

__global__ void fill_and_raise(int* data, volatile int* flag, bool fenced) {
  data[threadIdx.x] = threadIdx.x;  // :unfenced
  if (fenced) __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}

__global__ void fill_and_release(int* data, int* flag) {
  data[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(1, cuda::memory_order_release);
  }
}

__global__ void wait_and_read(const int* data, volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  __threadfence_system();
  out[threadIdx.x] = data[threadIdx.x];
}

__global__ void count(int* done) {
  atomicAdd_system(done, 1);
}

struct Memory {
  int* device = nullptr;
  int* other = nullptr;
  int* pinned[2] = {};
  int* managed = nullptr;
  int* flag = nullptr;
  cudaStream_t stream = nullptr;
  Memory() {
    cudaMalloc(&device, kBytes);
    cudaMalloc(&other, kBytes);
    cudaMallocHost(&pinned[0], kBytes);
    cudaHostAlloc(&pinned[1], kBytes, cudaHostAllocMapped);
    cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped);
    cudaMallocManaged(&managed, kBytes);
    cudaStreamCreate(&stream);
    cudaMemset(device, 0, kBytes);
    cudaMemset(other, 0, kBytes);
    *flag = 0;
    memset(pinned[0], 0, kBytes);
    memset(pinned[1], 0, kBytes);
    for (int i = 0; i < kCount; ++i) managed[i] = 0;
    cudaDeviceSynchronize();
  }
  ~Memory() {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    cudaFree(device);
    cudaFree(other);
    cudaFreeHost(pinned[0]);
    cudaFreeHost(pinned[1]);
    cudaFreeHost(flag);
    cudaFree(managed);
  }
  void produce() {
    fill<<<1, kCount, 0, stream>>>(device);
    cudaMemcpyAsync(pinned[0], device, kBytes, cudaMemcpyDeviceToHost, stream);  // :download
  }
  void read() {
    for (int i = 0; i < kCount; ++i) sum += pinned[0][i];  // :read
  }
};

void downloads(Case& test, Memory& m) {
  if (test.is("read_before_sync")) {
    m.produce();
    m.read();
  } else if (test.is("read_after_sync")) {
    m.produce();
    cudaStreamSynchronize(m.stream);
    m.read();
  } else if (test.is("read_after_event")) {
    cudaEvent_t event;
    cudaEventCreate(&event);
    m.produce();
    cudaEventRecord(event, m.stream);
    cudaEventSynchronize(event);
    m.read();
    cudaEventDestroy(event);
  } else if (test.is("read_after_query")) {
    m.produce();
    while (cudaStreamQuery(m.stream) != cudaSuccess) {
    }
    m.read();
  } else if (test.is("read_other_half")) {
    fill<<<1, kCount, 0, m.stream>>>(m.device);
    cudaMemcpyAsync(m.pinned[0], m.device, kBytes / 2, cudaMemcpyDeviceToHost, m.stream);
    for (int i = kCount / 2; i < kCount; ++i) sum += m.pinned[0][i];
  } else if (test.is("copy_before_sync") || test.is("copy_after_sync")) {
    std::vector<int> own(kCount);
    m.produce();
    if (test.is("copy_after_sync")) cudaDeviceSynchronize();
    memcpy(own.data(), m.pinned[0], kBytes);  // :host_copy
    sum += own[3];
  }
}

void managed(Case& test, Memory& m) {
  if (test.is("managed_before_sync") || test.is("managed_after_sync")) {
    fill<<<1, kCount>>>(m.managed);
    if (test.is("managed_after_sync")) cudaDeviceSynchronize();
    sum += m.managed[7];  // :managed
  } else if (test.is("variable_before_sync") || test.is("variable_after_sync")) {
    shared_variable[3] = 1;
    fill_variable<<<1, kCount>>>();
    if (test.is("variable_after_sync")) cudaDeviceSynchronize();
    sum += shared_variable[7];  // :managed
  }
}

void uploads(Case& test, Memory& m) {
  cudaEvent_t free[2];
  cudaEventCreate(&free[0]);
  cudaEventCreate(&free[1]);
  const bool early = test.is("write_under_upload");
  if (early || test.is("two_buffers_in_turn")) {
    for (int round = 0; round < 6; ++round) {
      int* buffer = m.pinned[round % 2];
      if (!early && round >= 2) cudaEventSynchronize(free[round % 2]);
      for (int i = 0; i < kCount; ++i) buffer[i] = round + i;  // :refill
      cudaMemcpyAsync(m.device, buffer, kBytes, cudaMemcpyHostToDevice, m.stream);  // :upload
      cudaEventRecord(free[round % 2], m.stream);
      add<<<1, kCount, 0, m.stream>>>(m.device, m.other);
    }
  }
  const bool later = test.is("write_after_kernel");
  if (later || test.is("write_under_kernel")) {
    add<<<1, kCount, 0, m.stream>>>(m.pinned[1], m.other);
    if (later) cudaStreamSynchronize(m.stream);
    for (int i = 0; i < kCount; ++i) m.pinned[1][i] = i;  // :refill
  }
  cudaEventDestroy(free[0]);
  cudaEventDestroy(free[1]);
}

void flags(Case& test, Memory& m) {
  const bool fenced = test.is("poll_fenced_flag");
  if (fenced || test.is("poll_flag_without_fence")) {
    fill_and_raise<<<1, kCount, 0, m.stream>>>(m.pinned[1], m.flag, fenced);
    volatile int* flag = m.flag;
    while (*flag == 0) {
    }
    for (int i = 0; i < kCount; ++i) sum += m.pinned[1][i];  // :polled
  } else if (test.is("poll_flag_and_print_it")) {
    fill_and_raise<<<1, kCount, 0, m.stream>>>(m.pinned[1], m.flag, false);
    while (*(volatile int*)m.flag == 0) {
    }
    sum += *m.flag;
  } else if (test.is("poll_atomic_flag")) {
    fill_and_release<<<1, kCount, 0, m.stream>>>(m.pinned[1], m.flag);
    while (__atomic_load_n(m.flag, __ATOMIC_ACQUIRE) == 0) {
    }
    for (int i = 0; i < kCount; ++i) sum += m.pinned[1][i];
  } else if (test.is("raise_flag_for_kernel")) {
    wait_and_read<<<1, 32, 0, m.stream>>>(m.pinned[1], m.flag, m.device);
    for (int i = 0; i < kCount; ++i) m.pinned[1][i] = i;
    __atomic_store_n(m.flag, 1, __ATOMIC_RELEASE);
    cudaStreamSynchronize(m.stream);
  } else if (test.is("progress_by_atomics")) {
    count<<<8, 32, 0, m.stream>>>(m.flag);
    while (__atomic_load_n(m.flag, __ATOMIC_RELAXED) < 256) {
    }
  }
}

void threads(Case& test, Memory& m) {
  static std::atomic<bool> is_there{false};
  if (test.is("callback_says_so")) {
    m.produce();
    cudaLaunchHostFunc(m.stream, [](void*) { is_there = true; }, nullptr);
    while (!is_there) std::this_thread::sleep_for(std::chrono::microseconds(5));
    m.read();
  } else if (test.is("thread_says_so")) {
    std::mutex mutex;
    std::thread other([&] {
      const std::lock_guard lock(mutex);
      m.produce();
      cudaStreamSynchronize(m.stream);
      is_there = true;
    });
    for (bool seen = false; !seen;) {
      std::this_thread::sleep_for(std::chrono::microseconds(5));
      const std::lock_guard lock(mutex);
      seen = is_there;
    }
    m.read();
    other.join();
  }
}

int main(int argc, char** argv) {
  Case test(argc, argv);
  {
    Memory memory;
    downloads(test, memory);
    managed(test, memory);
    uploads(test, memory);
    flags(test, memory);
    threads(test, memory);
  }
  static volatile int sink;
  sink = sum;
  return test.end();
}
