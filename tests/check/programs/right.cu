// SPDX-License-Identifier: Apache-2.0
// Programs that are right and look suspicious: nothing is to be found in any of them.
//
// CASE shuffle_reduction none
// CASE warp_synchronous none
// CASE grid_sync none
// CASE last_block none
// CASE spin_lock none
// CASE ticket_lock none
// CASE double_buffer none
// CASE async_pipeline none
// CASE pipeline_of_four_stages none
// CASE zero_filled_edge none
// CASE look_back none
// CASE persistent_queue none
// CASE ring_of_flags none
// CASE tree_of_barriers none
// CASE named_barrier_pipeline none
// CASE coalesced_groups none
// CASE benign_same_value none
// CASE byte_neighbours none
// CASE shared_atomics none
// CASE atomic_max_float none
// CASE device_memory_allocation none
// CASE two_kernels_two_halves none
// CASE pool_reuse none
// CASE managed_after_sync none
// CASE events_of_many_streams none
// CASE graph_diamond none
// CASE half_precision_tiles none
// CASE constant_and_texture_free none
// CASE dynamic_shared_views none
// CASE volatile_mailbox none
// CASE seqlock none
#include <thread>
#include <vector>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "case.h"

namespace cg = cooperative_groups;
using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__inline__ __device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_down_sync(~0u, value, step);
  return value;
}

__global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float parts[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
  if (threadIdx.x < 32) sum = warp_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void warp_sync_sum(const int* in, int* out) {
  __shared__ volatile int part[256];
  const int t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  for (int step = 128; step >= 32; step /= 2) {
    if (t < step) part[t] = part[t] + part[t + step];
    __syncthreads();
  }
  if (t < 32) {
    int value = part[t];
    for (int step = 16; step > 0; step /= 2) {
      value += part[t + step];
      __syncwarp();
      part[t] = value;
      __syncwarp();
    }
  }
  if (t == 0) *out = part[0];
}

__global__ void jacobi(float* a, float* b, int n, int rounds) {
  cg::grid_group grid = cg::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    const float* from = round % 2 == 0 ? a : b;
    float* to = round % 2 == 0 ? b : a;
    to[i] = (from[(i + n - 1) % n] + from[(i + 1) % n]) * 0.5f;
    grid.sync();
  }
}

__device__ unsigned g_arrived;

__global__ void last_block_sum(const float* in, volatile float* parts, float* out) {
  __shared__ bool last;
  float sum = warp_sum(in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&g_arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  float all = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 32)
    all += parts[i];
  all = warp_sum(all);
  if (threadIdx.x == 0) *out = all;
}

__global__ void locked(int* lock, int* list, int* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  list[(*count)++] = blockIdx.x;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void ticketed(unsigned* tickets, int* shared_sum) {
  if (threadIdx.x != 0) return;
  const unsigned mine = Flag(tickets[0]).fetch_add(1, cuda::memory_order_relaxed);
  while (Flag(tickets[1]).load(cuda::memory_order_acquire) != mine) {
  }
  *shared_sum += blockIdx.x;
  Flag(tickets[1]).store(mine + 1, cuda::memory_order_release);
}

__global__ void double_buffer(const float* in, float* out, int rounds) {
  __shared__ float tile[2][128];
  tile[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round + 1 < rounds)
      tile[(round + 1) % 2][threadIdx.x] = in[(round + 1) * 128 + threadIdx.x];
    sum += tile[round % 2][127 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <int kStages>
__global__ void pipelined(const float4* in, float4* out, int rounds) {
  __shared__ float4 stage[kStages][64];
  const auto fetch = [&](int round) {
    if (round < rounds) {
      __pipeline_memcpy_async(&stage[round % kStages][threadIdx.x], &in[round * 64 + threadIdx.x],
                              16);
    }
    __pipeline_commit();
  };
  for (int i = 0; i < kStages - 1; ++i)
    fetch(i);
  float4 sum = make_float4(0, 0, 0, 0);
  for (int round = 0; round < rounds; ++round) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    const float4 value = stage[round % kStages][63 - threadIdx.x];
    sum.x += value.x;
    sum.y += value.w;
    fetch(round + kStages - 1);
  }
  __pipeline_wait_prior(0);
  out[threadIdx.x] = sum;
}

// The last rows of a tile lie outside of the matrix: their copies read nothing, wherever they point.
__global__ void zero_filled(const float4* in, float4* out, int rows) {
  __shared__ float4 tile[64];
  const bool inside = static_cast<int>(threadIdx.x) < rows;
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x * 4096], 16, inside ? 0 : 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

struct Tile {
  unsigned state;  // 0: nothing, 1: its own sum, 2: everything up to it
  int own;
  int all;
};

/// Scan by looking back over the tiles before.
__global__ void look_back(const int* in, int* out, Tile* tiles, unsigned* next) {
  __shared__ int before;
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  __syncthreads();
  const unsigned mine = tile;
  int value = in[mine * 32 + threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, value, step);
    if (threadIdx.x >= step) value += other;
  }
  const int total = __shfl_sync(~0u, value, 31);
  if (threadIdx.x == 0) {
    tiles[mine].own = total;
    Flag(tiles[mine].state).store(1, cuda::memory_order_release);
    int sum = 0;
    for (int i = static_cast<int>(mine) - 1; i >= 0; --i) {
      unsigned state = 0;
      while ((state = Flag(tiles[i].state).load(cuda::memory_order_acquire)) == 0) {
      }
      if (state == 2) {
        sum += tiles[i].all;
        break;
      }
      sum += tiles[i].own;
    }
    tiles[mine].all = sum + total;
    Flag(tiles[mine].state).store(2, cuda::memory_order_release);
    before = sum;
  }
  __syncthreads();
  out[mine * 32 + threadIdx.x] = before + value;
}

/// Block 0 makes jobs, the others take them.
__global__ void queue(unsigned* head, unsigned* tail, int* jobs, int* done, int n) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      jobs[i] = i * i;
      Flag(*head).store(i + 1, cuda::memory_order_release);
    }
    return;
  }
  for (;;) {
    const unsigned mine = atomicAdd(tail, 1);
    if (mine >= static_cast<unsigned>(n)) return;
    while (Flag(*head).load(cuda::memory_order_acquire) <= mine) {
    }
    done[mine] = jobs[mine] + 1;
  }
}

/// Each block waits for the one before it, by a fence on both sides of a plain volatile flag.
__global__ void ring(volatile int* flags, int* data) {
  const int block = blockIdx.x;
  if (threadIdx.x == 0 && block > 0) {
    while (flags[block - 1] == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  data[(block + 1) * blockDim.x + threadIdx.x] =
      data[block * blockDim.x + (threadIdx.x + 1) % blockDim.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    flags[block] = 1;
  }
}

__global__ void barrier_tree(const int* in, int* out) {
  __shared__ int part[512];
  part[threadIdx.x] = in[threadIdx.x];
  for (int step = 256; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  if (threadIdx.x == 0) *out = part[0];
}

__global__ void producer_consumer(int* out, int rounds) {
  __shared__ int box[2][32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; ++i) {
      if (i >= 2) asm volatile("barrier.sync %0, 64;" ::"r"(4 + i % 2) : "memory");
      box[i % 2][lane] = i + lane;
      asm volatile("barrier.arrive %0, 64;" ::"r"(2 + i % 2) : "memory");
    }
  } else {
    for (int i = 0; i < rounds; ++i) {
      asm volatile("barrier.sync %0, 64;" ::"r"(2 + i % 2) : "memory");
      out[lane] += box[i % 2][31 - lane];
      if (i + 2 < rounds) asm volatile("barrier.arrive %0, 64;" ::"r"(4 + i % 2) : "memory");
    }
  }
}

__global__ void groups(const int* in, int* out, int* slots) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  __shared__ int part[64];
  const int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) part[threadIdx.x / 8] = sum;
  tile.sync();
  out[threadIdx.x] = part[threadIdx.x / 8];
  if (in[threadIdx.x] % 3 == 0) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(slots, active.size());
    base = active.shfl(base, 0);
    slots[1 + base + active.thread_rank()] = threadIdx.x;
  }
}

__global__ void same_value(int* flag, unsigned char* seen, const int* in) {
  if (in[threadIdx.x] == 0) *flag = 1;
  seen[in[threadIdx.x] & 3] = 1;
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (in[threadIdx.x] == 0) any = 1;
  __syncthreads();
  if (threadIdx.x == 0) flag[1] = any;
}

__global__ void bytes(unsigned char* data, unsigned short* halves) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = static_cast<unsigned char>(i);
  halves[i] = static_cast<unsigned short>(i);
  __shared__ unsigned char tile[96];
  tile[threadIdx.x % 96] = 1;
  __syncthreads();
  data[i] += tile[95 - threadIdx.x % 96];
}

__global__ void shared_counters(const int* in, int* out) {
  __shared__ int bins[8];
  __shared__ int highest;
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) highest = -1;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] & 7], 1);
  atomicMax(&highest, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
  if (threadIdx.x == 8) atomicMax(&out[8], highest);
}

__global__ void max_of(const float* in, int* best) {
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  int old = *reinterpret_cast<volatile int*>(best);
  while (__int_as_float(old) < value) {
    const int assumed = old;
    old = atomicCAS(best, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
}

__global__ void device_heap(int** list, int* out) {
  int* mine = static_cast<int*>(malloc(64));
  mine[0] = threadIdx.x;
  list[threadIdx.x] = mine;
  __syncthreads();
  int* other = list[(threadIdx.x + 1) % blockDim.x];
  out[threadIdx.x] = other[0];
  __syncthreads();
  free(mine);
}

__global__ void twice(float* data, int first) {
  data[first + threadIdx.x] = data[first + threadIdx.x] * 2 + 1;
}

__global__ void tiles(const __half2* in, __half* out) {
  __shared__ __half2 tile[16][17];
  const int x = threadIdx.x % 16;
  const int y = threadIdx.x / 16;
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  const __half2 value = tile[x][y];
  out[threadIdx.x] = __hadd(__low2half(value), __high2half(value));
}

__constant__ int c_table[64];

__global__ void constants(int* out) {
  out[threadIdx.x] = c_table[63 - threadIdx.x % 64];
}

__global__ void views(int* out) {
  extern __shared__ double pool[];
  double* first = pool;
  int* second = reinterpret_cast<int*>(pool + 32);
  unsigned char* third = reinterpret_cast<unsigned char*>(second + 64);
  if (threadIdx.x < 32) first[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 64) second[threadIdx.x] = threadIdx.x;
  third[threadIdx.x] = threadIdx.x & 255;
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(first[threadIdx.x % 32]) + second[63 - threadIdx.x % 64] +
                     third[blockDim.x - 1 - threadIdx.x];
}

__global__ void mailbox(volatile int* box, volatile int* flag, int n, int* out) {
  if (threadIdx.x != 0) return;
  for (int i = 1; i <= n; ++i) {
    if (blockIdx.x == 0) {
      while (*flag != 2 * i - 2) {
      }
      __threadfence();
      box[0] = i;
      __threadfence();
      *flag = 2 * i - 1;
    } else {
      while (*flag != 2 * i - 1) {
      }
      __threadfence();
      out[i] = box[0];
      __threadfence();
      *flag = 2 * i;
    }
  }
}

/// Readers try again until nothing was written meanwhile; all is relaxed atomics and fences.
__global__ void seqlock(unsigned* sequence, unsigned* data, unsigned* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (unsigned i = 1; i <= 4; ++i) {
      Flag(*sequence).store(2 * i - 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      Flag(data[0]).store(i, cuda::memory_order_relaxed);
      Flag(data[1]).store(i, cuda::memory_order_relaxed);
      Flag(*sequence).store(2 * i, cuda::memory_order_release);
    }
    return;
  }
  for (;;) {
    const unsigned before = Flag(*sequence).load(cuda::memory_order_acquire);
    const unsigned a = Flag(data[0]).load(cuda::memory_order_relaxed);
    const unsigned b = Flag(data[1]).load(cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    const unsigned after = Flag(*sequence).load(cuda::memory_order_relaxed);
    if (before == after && before % 2 == 0) {
      out[blockIdx.x] = a + b;
      return;
    }
  }
}

template <typename T>
T* make(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  cudaMemset(memory, 0, count * sizeof(T));
  cudaDeviceSynchronize();
  return memory;
}

void host_cases(Case& run, float* data, int* ints) {
  if (run.is("two_kernels_two_halves")) {
    cudaStream_t streams[2];
    for (int i = 0; i < 2; ++i) {
      cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
      twice<<<1, 128, 0, streams[i]>>>(data, i * 128);
    }
    cudaDeviceSynchronize();
    for (cudaStream_t stream : streams)
      cudaStreamDestroy(stream);
  }
  if (run.is("pool_reuse")) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < 4; ++i) {
      float* pooled = nullptr;
      cudaMallocAsync(&pooled, 1024, stream);
      cudaMemsetAsync(pooled, 0, 1024, stream);
      twice<<<1, 256, 0, stream>>>(pooled, 0);
      cudaMemcpyAsync(data, pooled, 1024, cudaMemcpyDeviceToDevice, stream);
      cudaFreeAsync(pooled, stream);
    }
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  if (run.is("managed_after_sync")) {
    float* managed = nullptr;
    cudaMallocManaged(&managed, 1024);
    for (int i = 0; i < 256; ++i)
      managed[i] = i;
    twice<<<1, 256>>>(managed, 0);
    cudaDeviceSynchronize();
    managed[0] = managed[1];
    twice<<<1, 256>>>(managed, 0);
    cudaDeviceSynchronize();
    cudaFree(managed);
  }
  if (run.is("events_of_many_streams")) {
    std::vector<cudaStream_t> streams(5);
    std::vector<cudaEvent_t> events(5);
    for (int i = 0; i < 5; ++i) {
      cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming);
    }
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) {
        twice<<<1, 64, 0, streams[i]>>>(data, i * 64);
        cudaEventRecord(events[i], streams[i]);
        cudaStreamWaitEvent(streams[4], events[i]);
      }
      twice<<<1, 256, 0, streams[4]>>>(data, 0);
      cudaEventRecord(events[4], streams[4]);
      for (int i = 0; i < 4; ++i)
        cudaStreamWaitEvent(streams[i], events[4]);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < 5; ++i) {
      cudaStreamDestroy(streams[i]);
      cudaEventDestroy(events[i]);
    }
  }
  if (run.is("graph_diamond")) {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    twice<<<1, 256, 0, a>>>(data, 0);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork);
    twice<<<1, 128, 0, a>>>(data, 0);
    twice<<<1, 128, 0, b>>>(data, 128);
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join);
    twice<<<1, 256, 0, a>>>(data, 0);
    cudaStreamEndCapture(a, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3; ++i)
      cudaGraphLaunch(exec, i % 2 == 0 ? a : a);
    cudaStreamSynchronize(a);
    twice<<<1, 256>>>(data, 0);
    cudaGraphLaunch(exec, a);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
  }
  if (run.is("constant_and_texture_free")) {
    int table[64] = {};
    cudaMemcpyToSymbol(c_table, table, sizeof table);
    constants<<<2, 64>>>(ints);
  }
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  float* in = make<float>(8192);
  float* out = make<float>(8192);
  int* ints = make<int>(8192);
  int* more = make<int>(8192);
  if (run.is("shuffle_reduction")) block_sum<<<8, 256>>>(in, out, 8192);
  if (run.is("warp_synchronous")) warp_sync_sum<<<1, 256>>>(ints, more);
  if (run.is("grid_sync")) {
    int n = 1024, rounds = 4;
    void* args[] = {&in, &out, &n, &rounds};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(jacobi), dim3(8), dim3(128), args, 0,
                                nullptr);
  }
  if (run.is("last_block")) {
    for (int i = 0; i < 2; ++i)
      last_block_sum<<<16, 32>>>(in, out, out + 100);
  }
  if (run.is("spin_lock")) locked<<<8, 32>>>(ints, ints + 64, ints + 32);
  if (run.is("ticket_lock")) ticketed<<<8, 32>>>(reinterpret_cast<unsigned*>(ints), ints + 32);
  if (run.is("double_buffer")) double_buffer<<<2, 128>>>(in, out, 5);
  if (run.is("async_pipeline")) pipelined<2><<<1, 64>>>((float4*)in, (float4*)out, 6);
  if (run.is("pipeline_of_four_stages")) pipelined<4><<<2, 64>>>((float4*)in, (float4*)out, 9);
  if (run.is("zero_filled_edge")) zero_filled<<<1, 64>>>((float4*)in, (float4*)out, 1);
  if (run.is("look_back")) {
    look_back<<<16, 32>>>(ints, more, reinterpret_cast<Tile*>(more + 4096),
                          reinterpret_cast<unsigned*>(ints) + 4096);
  }
  if (run.is("persistent_queue")) {
    queue<<<5, 32>>>(reinterpret_cast<unsigned*>(ints), reinterpret_cast<unsigned*>(ints) + 32,
                     ints + 64, more, 40);
  }
  if (run.is("ring_of_flags")) ring<<<8, 64>>>(ints, more);
  if (run.is("tree_of_barriers")) barrier_tree<<<1, 512>>>(ints, more);
  if (run.is("named_barrier_pipeline")) producer_consumer<<<1, 64>>>(ints, 7);
  if (run.is("coalesced_groups")) groups<<<1, 256>>>(ints, more, more + 1024);
  if (run.is("benign_same_value"))
    same_value<<<4, 128>>>(more, reinterpret_cast<unsigned char*>(more + 64), ints);
  if (run.is("byte_neighbours")) {
    bytes<<<4, 96>>>(reinterpret_cast<unsigned char*>(ints),
                     reinterpret_cast<unsigned short*>(more));
  }
  if (run.is("shared_atomics")) shared_counters<<<4, 128>>>(ints, more);
  if (run.is("atomic_max_float")) max_of<<<4, 128>>>(in, more);
  if (run.is("device_memory_allocation"))
    device_heap<<<1, 64>>>(reinterpret_cast<int**>(ints), more);
  if (run.is("half_precision_tiles")) tiles<<<1, 256>>>((__half2*)in, (__half*)out);
  if (run.is("dynamic_shared_views")) views<<<2, 128, 32 * 8 + 64 * 4 + 128>>>(more);
  if (run.is("volatile_mailbox")) mailbox<<<2, 32>>>(ints, ints + 32, 5, more);
  if (run.is("seqlock")) {
    auto* words = reinterpret_cast<unsigned*>(ints);
    seqlock<<<4, 32>>>(words, words + 32, words + 64);
  }
  host_cases(run, in, ints);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  cudaFree(ints);
  cudaFree(more);
  return run.end();
}
