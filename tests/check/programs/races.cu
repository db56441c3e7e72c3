// SPDX-License-Identifier: Apache-2.0
// Races in shared and global memory, of kernels, copies and streams, and twins without.
//
// CASE no_barrier_after_store shared-race
// CASE no_barrier_before_store shared-race
// CASE both_barriers none
// CASE no_syncwarp shared-race
// CASE syncwarp none
// CASE shuffle_is_no_syncwarp shared-race
// CASE vote_is_no_syncwarp shared-race
// CASE shuffle_and_syncwarp none
// CASE lane_stores_early shared-race@lane_store/lane_load
// CASE lane_stores_after_syncwarp none
// CASE lane_stores_after_shuffle shared-race@lane_store/lane_load
// CASE lane_stores_its_own none
// CASE broadcast_early shared-race@all_load/one_store
// CASE broadcast_after_syncwarp none
// CASE matrix_stored_early shared-race@matrix_store/matrix_read
// CASE matrix_stored_after_syncwarp none
// CASE halves_of_a_warp shared-race
// CASE halves_apart none
// CASE shared_bytes_apart none
// CASE same_value_by_all none
// CASE same_value_at_first_only global-race@alike/alike
// CASE same_value_at_first_only_shared shared-race@shared_alike/shared_alike
// CASE blocks_add_without_atomic global-race
// CASE blocks_add_with_atomic none
// CASE warps_through_global global-race
// CASE warps_through_global_barrier none
// CASE flag_without_fence global-race
// CASE flag_with_block_fence global-race
// CASE flag_with_fences none
// CASE flag_release_acquire none
// CASE last_block_without_fence global-race
// CASE last_block_with_fences none
// CASE source_told_free_early global-race@free/async_read
// CASE source_told_free_early_by_fence global-race@free/async_read
// CASE source_told_free none
// CASE source_told_free_by_fence none
// CASE source_told_free_elsewhere global-race@free/async_read
// CASE two_streams global-race
// CASE two_streams_event none
// CASE copy_on_other_stream global-race
// CASE copy_on_other_stream_event none
// CASE event_recorded_too_early global-race
// CASE event_of_the_work none
// CASE host_waits_for_one_stream global-race
// CASE host_waits_for_both none
// CASE graph_branches global-race
// CASE graph_chain none
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cuda/atomic>

#include "case.h"

__global__ void reverse(int* out, const int* in, bool first, bool second) {
  __shared__ int tile[128];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = in[threadIdx.x];
    if (first) __syncthreads();
    out[threadIdx.x] = tile[127 - threadIdx.x];
    if (second) __syncthreads();
  }
}

__global__ void neighbours(int* out, bool sync) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  if (sync) __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

enum Exchange { Shuffle = 1, Vote = 2, Sync = 4 };

// Registers are exchanged between the store and the load, which says nothing of memory.
__global__ void exchange(int* out, int ways) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  int sum = 0;
  if (ways & Shuffle) sum += __shfl_xor_sync(~0u, out[threadIdx.x], 1);
  if (ways & Vote) sum += __any_sync(~0u, out[threadIdx.x] == 3);
  if (ways & Sync) __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 1] + sum;
}

// Each lane reads another's word, and stores its own.
__global__ void rotate(int* out, int by, int ways) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  int value = tile[(threadIdx.x + by) % 32];  // :lane_load
  if (ways & Shuffle) value = __shfl_xor_sync(~0u, value, 1);
  if (ways & Sync) __syncwarp();
  tile[threadIdx.x] = value;  // :lane_store
  __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

__global__ void broadcast(int* out, bool sync) {
  __shared__ int word;
  if (threadIdx.x == 0) word = out[0];  // :one_store
  if (sync) __syncwarp();
  out[threadIdx.x] = word;  // :all_load
}

__global__ void matrices(float* out, bool sync) {
  using namespace nvcuda;
  __shared__ float tile[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  for (int round = 0; round < 2; ++round) {
    wmma::fill_fragment(sum, round);
    wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);  // :matrix_store
    __syncwarp();
    out[threadIdx.x] += tile[threadIdx.x];  // :matrix_read
    if (sync) __syncwarp();
  }
}

// Tiles of 16 lanes meet for themselves.
__global__ void halves(int* out, int by) {
  __shared__ int tile[32];
  const auto half = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
  tile[threadIdx.x] = threadIdx.x;
  half.sync();
  out[threadIdx.x] = tile[threadIdx.x ^ by];
}

__global__ void flags(int* out) {
  __shared__ bool done[4];
  if (threadIdx.x % 32 == 0) done[threadIdx.x / 32] = true;
  __syncthreads();
  out[threadIdx.x] = done[threadIdx.x % 4];
}

__global__ void mark(int* flag) {
  *flag = 1;
}

// Blocks store the same in the first words, and in the others not.
__global__ void alike(int4* out) {
  const int value = threadIdx.x < 24 ? 1 : blockIdx.x;
  out[threadIdx.x] = make_int4(value, value, value, value);  // :alike
}

__global__ void alike_in_shared(int* out) {
  __shared__ int tile[32];
  const int lane = threadIdx.x % 32;
  tile[lane] = lane < 24 ? 1 : threadIdx.x / 32;  // :shared_alike
  __syncthreads();
  out[threadIdx.x] = tile[lane];
}

enum Telling { AtOnce, WhenCopied, ForOthers };
enum By { Release, Fence };

// The first block copies from memory, and tells the second one that it may be overwritten.
__global__ void tell_free(int* data, int* flag, int* out, Telling when, By by) {
  using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
  __shared__ __align__(16) int tile[256];
  const int at = 4 * threadIdx.x;
  if (blockIdx.x == 0) {
    const bool tells = threadIdx.x == 0;
    if (when != ForOthers || !tells) __pipeline_memcpy_async(&tile[at], &data[at], 16);  // :async_read
    __pipeline_commit();
    if (when == WhenCopied) __pipeline_wait_prior(0);
    __syncthreads();
    if (tells && by == Release) Flag(*flag).store(1, cuda::memory_order_release);
    if (tells && by == Fence) {
      __threadfence();
      Flag(*flag).store(1, cuda::memory_order_relaxed);
    }
    __pipeline_wait_prior(0);
    if (when != ForOthers) out[threadIdx.x] = tile[at];
    return;
  }
  if (threadIdx.x == 0) {
    while (Flag(*flag).load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  data[threadIdx.x] = data[64 + threadIdx.x] = data[128 + threadIdx.x] = 1;  // :free
}

__global__ void count(int* sum, bool atomic) {
  if (threadIdx.x != 0) return;
  if (atomic) {
    atomicAdd(sum, 1);
  } else {
    *sum += 1;
  }
}

__global__ void through_global(int* data, bool barrier) {
  data[threadIdx.x] = threadIdx.x;
  if (barrier) __syncthreads();
  data[256 + threadIdx.x] = data[255 - threadIdx.x];
}

__global__ void pass_on(int* data, int* flag, int mode) {
  volatile int* watched = flag;
  if (blockIdx.x == 0) {
    if (mode == 3) {
      *data = 42;
      cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);
      return;
    }
    *data = 42;
    if (mode == 1) __threadfence_block();
    if (mode == 2) __threadfence();
    *watched = 1;
  } else {
    if (mode == 3) {
      while (cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(
                 cuda::memory_order_acquire) == 0) {
      }
    } else {
      while (*watched == 0) {
      }
      if (mode == 1) __threadfence_block();
      if (mode == 2) __threadfence();
    }
    data[1] = *data;
  }
}

__global__ void sum_blocks(int* parts, unsigned* arrived, int* sum, bool fences) {
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = blockIdx.x;
  if (fences) __threadfence();
  const bool last = atomicAdd(arrived, 1) == gridDim.x - 1;
  if (!last) return;
  if (fences) __threadfence();
  int all = 0;
  for (int i = 0; i < gridDim.x; ++i)
    all += parts[i];
  *sum = all;
}

__global__ void produce(int* data, int value) {
  data[threadIdx.x] = value;
}

__global__ void consume(int* out, const int* data) {
  out[threadIdx.x] = data[threadIdx.x];
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  int* data = nullptr;
  int* out = nullptr;
  cudaMalloc(&data, 4096);
  cudaMalloc(&out, 4096);
  cudaMemset(data, 0, 4096);
  cudaMemset(out, 0, 4096);
  cudaDeviceSynchronize();
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEvent_t event;
  cudaEventCreate(&event);
  int* host = nullptr;
  cudaMallocHost(&host, 4096);

  if (run.is("no_barrier_after_store")) reverse<<<1, 128>>>(out, data, false, true);
  if (run.is("no_barrier_before_store")) reverse<<<1, 128>>>(out, data, true, false);
  if (run.is("both_barriers")) reverse<<<1, 128>>>(out, data, true, true);
  if (run.is("no_syncwarp")) neighbours<<<1, 32>>>(out, false);
  if (run.is("syncwarp")) neighbours<<<1, 32>>>(out, true);
  if (run.is("shuffle_is_no_syncwarp")) exchange<<<1, 32>>>(data, Shuffle);
  if (run.is("vote_is_no_syncwarp")) exchange<<<1, 32>>>(data, Vote);
  if (run.is("shuffle_and_syncwarp")) exchange<<<1, 32>>>(data, Shuffle | Vote | Sync);
  if (run.is("lane_stores_early")) rotate<<<1, 32>>>(out, 1, 0);
  if (run.is("lane_stores_after_syncwarp")) rotate<<<1, 32>>>(out, 1, Sync);
  if (run.is("lane_stores_after_shuffle")) rotate<<<1, 32>>>(out, 1, Shuffle);
  if (run.is("lane_stores_its_own")) rotate<<<1, 32>>>(out, 32, 0);
  if (run.is("broadcast_early")) broadcast<<<1, 32>>>(data, false);
  if (run.is("broadcast_after_syncwarp")) broadcast<<<1, 32>>>(data, true);
  if (run.is("matrix_stored_early")) matrices<<<1, 32>>>((float*)data, false);
  if (run.is("matrix_stored_after_syncwarp")) matrices<<<1, 32>>>((float*)data, true);
  if (run.is("halves_of_a_warp")) halves<<<1, 32>>>(out, 16);
  if (run.is("halves_apart")) halves<<<1, 32>>>(out, 8);
  if (run.is("shared_bytes_apart")) flags<<<1, 128>>>(out);
  if (run.is("same_value_by_all")) mark<<<4, 64>>>(out);
  if (run.is("same_value_at_first_only")) alike<<<2, 32>>>((int4*)out);
  if (run.is("same_value_at_first_only_shared")) alike_in_shared<<<1, 64>>>(out);
  if (run.is("source_told_free_early")) tell_free<<<2, 64>>>(data, out + 512, out, AtOnce, Release);
  if (run.is("source_told_free")) tell_free<<<2, 64>>>(data, out + 512, out, WhenCopied, Release);
  if (run.is("source_told_free_elsewhere")) tell_free<<<2, 64>>>(data, out + 512, out, ForOthers, Release);
  if (run.is("source_told_free_early_by_fence")) tell_free<<<2, 64>>>(data, out + 512, out, AtOnce, Fence);
  if (run.is("source_told_free_by_fence")) tell_free<<<2, 64>>>(data, out + 512, out, WhenCopied, Fence);
  if (run.is("blocks_add_without_atomic")) count<<<8, 32>>>(out, false);
  if (run.is("blocks_add_with_atomic")) count<<<8, 32>>>(out, true);
  if (run.is("warps_through_global")) through_global<<<1, 256>>>(data, false);
  if (run.is("warps_through_global_barrier")) through_global<<<1, 256>>>(data, true);
  if (run.is("flag_without_fence")) pass_on<<<2, 1>>>(data, out, 0);
  if (run.is("flag_with_block_fence")) pass_on<<<2, 1>>>(data, out, 1);
  if (run.is("flag_with_fences")) pass_on<<<2, 1>>>(data, out, 2);
  if (run.is("flag_release_acquire")) pass_on<<<2, 1>>>(data, out, 3);
  if (run.is("last_block_without_fence")) {
    sum_blocks<<<8, 32>>>(data, (unsigned*)(data + 100), out, false);
  }
  if (run.is("last_block_with_fences")) {
    sum_blocks<<<8, 32>>>(data, (unsigned*)(data + 100), out, true);
  }
  if (run.is("two_streams") || run.is("two_streams_event")) {
    produce<<<1, 64, 0, one>>>(data, 1);
    cudaEventRecord(event, one);
    if (run.is("two_streams_event")) cudaStreamWaitEvent(two, event);
    consume<<<1, 64, 0, two>>>(out, data);
  }
  if (run.is("copy_on_other_stream") || run.is("copy_on_other_stream_event")) {
    produce<<<1, 64, 0, one>>>(data, 1);
    cudaEventRecord(event, one);
    if (run.is("copy_on_other_stream_event")) cudaStreamWaitEvent(two, event);
    cudaMemcpyAsync(host, data, 256, cudaMemcpyDeviceToHost, two);
  }
  if (run.is("event_recorded_too_early") || run.is("event_of_the_work")) {
    if (run.is("event_recorded_too_early")) cudaEventRecord(event, one);
    produce<<<1, 64, 0, one>>>(data, 1);
    if (run.is("event_of_the_work")) cudaEventRecord(event, one);
    cudaStreamWaitEvent(two, event);
    consume<<<1, 64, 0, two>>>(out, data);
  }
  if (run.is("host_waits_for_one_stream") || run.is("host_waits_for_both")) {
    produce<<<1, 64, 0, one>>>(data, 1);
    produce<<<1, 64, 0, two>>>(data + 64, 1);
    cudaStreamSynchronize(one);
    if (run.is("host_waits_for_both")) cudaStreamSynchronize(two);
    consume<<<1, 128, 0, one>>>(out, data);
  }
  if (run.is("graph_branches") || run.is("graph_chain")) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, one);
    cudaStreamWaitEvent(two, event);
    produce<<<1, 64, 0, one>>>(data, 1);
    if (run.is("graph_chain")) {
      cudaEventRecord(event, one);
      cudaStreamWaitEvent(two, event);
    }
    consume<<<1, 64, 0, two>>>(out, data);
    cudaEventRecord(event, two);
    cudaStreamWaitEvent(one, event);
    cudaStreamEndCapture(one, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, one);
    cudaGraphLaunch(exec, one);
    cudaStreamSynchronize(one);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  cudaDeviceSynchronize();
  cudaEventDestroy(event);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  cudaFreeHost(host);
  cudaFree(data);
  cudaFree(out);
  return run.end();
}
