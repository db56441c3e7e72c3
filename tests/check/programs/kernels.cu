// SPDX-License-Identifier: Apache-2.0
// Bugs of one kernel in code as people write it: templates, structs, inlined helpers, vectors,
// bytes, asynchronous copies, specialised warps; each beside a twin that is right. Marks (`//
// :name`) are the lines that have to be named.
//
// CASE row_too_far out-of-bounds
// CASE row_clamped none
// CASE tail_vector_too_far out-of-bounds@copy16
// CASE tail_by_elements none
// CASE byte_after_the_end out-of-bounds@bytes
// CASE bytes_to_the_end none
// CASE variable_too_far out-of-bounds@table
// CASE variable_whole none
// CASE variable_of_many_blocks global-race@counter
// CASE variable_atomic none
// CASE shared_index_too_far out-of-bounds@dynamic
// CASE shared_index_in_range none
// CASE freed_in_struct use-after-free@field/release
// CASE kept_in_struct none
// CASE pooled_after_free use-after-free@stamp/release_async
// CASE pooled_before_free none
// CASE hole_in_struct uninitialised-read@field
// CASE padding_is_not_read none
// CASE partial_sums_missing uninitialised-read@partials
// CASE partial_sums_there none
// CASE long_at_odd_int misaligned@long
// CASE long_at_even_int none
// CASE half2_at_odd_half misaligned@half2
// CASE half2_at_even_half none
// CASE async_copy_not_waited shared-race
// CASE async_copy_of_last_stage shared-race
// CASE async_copy_waited none
// CASE async_own_element_early shared-race@own_copy/own_use
// CASE async_own_element none
// CASE producer_without_barrier shared-race@give/take
// CASE producer_refills_too_soon shared-race@give/take
// CASE producer_with_barriers none
// CASE histogram_plain shared-race@bin
// CASE histogram_atomic none
// CASE last_writer_wins shared-race@same
// CASE one_writer none
// CASE transpose_without_barrier shared-race@tile_in/tile_out
// CASE transpose none
// CASE tree_without_syncwarp shared-race
// CASE tree_with_syncwarp none
// CASE lanes_through_global global-race@lane_out/lane_in
// CASE lanes_through_global_sync none
// CASE scan_inside_block_global global-race@bytes_out/bytes_in
// CASE scan_inside_block_global_sync none
// CASE struct_words_of_two_blocks global-race@word/pair
// CASE struct_words_apart none
// CASE ticket_relaxed global-race@part/total
// CASE ticket_acq_rel none
// CASE block_scope_release global-race@data_out/data_in
// CASE device_scope_release none
// CASE shuffle_of_half_a_warp invalid-mask@shuffle
// CASE shuffle_of_all none
// CASE vote_after_exit invalid-mask@vote
// CASE vote_of_the_rest none
// CASE barrier_in_loop barrier-mismatch
// CASE barrier_after_loop none
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "case.h"

namespace cg = cooperative_groups;

// Out of bounds
// ------------------------------------------------------------------------------------

struct Grid2D {
  float* cells;
  int width;
  int height;
  __device__ float& at(int x, int y) const { return cells[y * width + x]; }
};

template <bool kClamp>
__global__ void blur(Grid2D in, Grid2D out) {
  const int x = threadIdx.x;
  const int y = blockIdx.x;
  const int below = kClamp && y + 1 == in.height ? y : y + 1;
  out.at(x, y) = (in.at(x, y) + in.at(x, below)) * 0.5f;
}

template <typename Vector>
__device__ __forceinline__ void move(Vector* to, const Vector* from, size_t i) {
  to[i] = from[i];  // :copy16
}

__global__ void copy_all(char* to, const char* from, size_t bytes, bool careful) {
  const size_t vectors = careful ? bytes / 16 : (bytes + 15) / 16;
  for (size_t i = threadIdx.x; i < vectors; i += blockDim.x)
    move(reinterpret_cast<int4*>(to), reinterpret_cast<const int4*>(from), i);
  if (!careful) return;
  for (size_t i = vectors * 16 + threadIdx.x; i < bytes; i += blockDim.x)
    to[i] = from[i];
}

__global__ void terminate(unsigned char* text, int length) {
  if (threadIdx.x == 0) text[length] = 0;  // :bytes
}

__device__ int g_table[100];

__global__ void fill_table(int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    g_table[i] = i;  // :table
}

__device__ unsigned g_counter;

__global__ void count_up(bool atomic) {
  if (threadIdx.x != 0) return;
  if (atomic) {
    atomicAdd(&g_counter, 1u);
  } else {
    g_counter += 1;  // :counter
  }
}

__global__ void use_dynamic(int* out, int n) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = threadIdx.x;  // :dynamic
  __syncthreads();
  if (threadIdx.x < n) out[threadIdx.x] = dynamic[n - 1 - threadIdx.x];
}

// Freed, unwritten, misaligned
// ---------------------------------------------------------------------

struct Particles {
  float4* position;
  int* alive;
};

struct Item {
  double weight;
  int key;
};

__global__ void age(Particles all, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) all.position[i].w += 1.0f;  // :field
}

__global__ void stamp(unsigned long long* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = clock64() > 0;  // :stamp
}

__global__ void make_items(Item* items) {
  items[threadIdx.x].weight = 0.5;
  items[threadIdx.x].key = threadIdx.x;
}

__global__ void sum_items(const Item* items, double* out) {
  out[threadIdx.x] = items[threadIdx.x].weight * items[threadIdx.x].key;
}

__global__ void write_partials(double* partials, int blocks) {
  if (threadIdx.x == 0 && blockIdx.x < blocks) partials[blockIdx.x] = 1.0;
}

__global__ void sum_partials(const double* partials, int n, double* out) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += partials[i];  // :partials
  *out = sum;
}

__global__ void as_longs(const int* data, long long* out) {
  out[threadIdx.x] = reinterpret_cast<const long long*>(data)[threadIdx.x];  // :long
}

__global__ void as_halves(__half* data) {
  reinterpret_cast<__half2*>(data)[threadIdx.x] = __floats2half2_rn(1.0f, 2.0f);  // :half2
}

// Shared memory
// ------------------------------------------------------------------------------------

/// Two stages of asynchronous copies. kPending: how many of them may still be on their way when a
/// stage is used.
template <int kPending, bool kWait>
__global__ void staged(const float* in, float* out, int rounds) {
  __shared__ float stage[2][128];
  const auto fetch = [&](int round) {
    __pipeline_memcpy_async(&stage[round % 2][threadIdx.x], &in[round * 128 + threadIdx.x],
                            4);  // :staged
    __pipeline_commit();
  };
  fetch(0);
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round + 1 < rounds) fetch(round + 1);
    if (kWait) {
      if (round + 1 < rounds) {
        __pipeline_wait_prior(kPending);
      } else {
        __pipeline_wait_prior(kPending - 1);
      }
    }
    __syncthreads();
    sum += stage[round % 2][127 - threadIdx.x];  // :use
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  out[threadIdx.x] = sum;
}

__global__ void own_element(const int4* in, int4* out, bool wait) {
  __shared__ int4 tile[64];
  tile[threadIdx.x] = make_int4(0, 0, 0, 0);
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);  // :own_copy
  __pipeline_commit();
  if (wait) __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];  // :own_use
  __pipeline_wait_prior(0);
}

/// Warp 0 gives, the others take. Named barriers 1 and 2 (full), 3 and 4 (empty), in turn.
__global__ void specialised(int* out, int rounds, bool full, bool empty) {
  __shared__ int box[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < rounds; ++round) {
    if (warp == 0) {
      if (empty && round > 0) asm volatile("barrier.sync %0, 96;" ::"r"(3 + round % 2) : "memory");
      box[lane] = round;  // :give
      if (full) asm volatile("barrier.arrive %0, 96;" ::"r"(1 + round % 2) : "memory");
    } else {
      if (full) asm volatile("barrier.sync %0, 96;" ::"r"(1 + round % 2) : "memory");
      out[threadIdx.x] = box[31 - lane];  // :take
      if (empty && round + 1 < rounds) {
        asm volatile("barrier.arrive %0, 96;" ::"r"(3 + (round + 1) % 2) : "memory");
      }
    }
  }
}

template <bool kAtomic>
__global__ void histogram(const unsigned char* text, int n, unsigned* out) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned& bin = bins[text[i] % 16];
    if (kAtomic) {
      atomicAdd(&bin, 1u);
    } else {
      bin += 1;  // :bin
    }
  }
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void elect(int* out, bool one) {
  __shared__ int winner;
  if (!one || threadIdx.x == 0) winner = threadIdx.x;  // :same
  __syncthreads();
  out[threadIdx.x] = winner;
}

template <int kTile, bool kSync>
__global__ void transpose(const short* in, short* out) {
  __shared__ short tile[kTile][kTile + 2];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * kTile + threadIdx.x];  // :tile_in
  if (kSync) __syncthreads();
  out[threadIdx.y * kTile + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // :tile_out
}

template <bool kSync>
__global__ void tree(const float* in, float* out) {
  __shared__ float part[32];
  part[threadIdx.x] = in[threadIdx.x];
  if (kSync) __syncwarp();
  for (int step = 16; step > 0; step /= 2) {
    float other = 0;
    if (threadIdx.x < step) other = part[threadIdx.x + step];
    if (kSync) __syncwarp();
    if (threadIdx.x < step) part[threadIdx.x] += other;
    if (kSync) __syncwarp();
  }
  if (threadIdx.x == 0) *out = part[0];
}

// Global memory
// ------------------------------------------------------------------------------------

__global__ void lanes(int* data, bool sync) {
  data[threadIdx.x] = threadIdx.x * 3;  // :lane_out
  if (sync) __syncwarp();
  const int other = data[threadIdx.x ^ 1];  // :lane_in
  __syncwarp();
  data[32 + threadIdx.x] = other;
}

__global__ void neighbours(unsigned char* data, unsigned char* out, bool sync) {
  data[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);  // :bytes_out
  if (sync) __syncthreads();
  out[threadIdx.x] = data[(threadIdx.x + 40) % blockDim.x];  // :bytes_in
}

struct alignas(8) Pair {
  int a;
  int b;
};

__global__ void words(Pair* pairs, bool apart, Pair* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    pairs[0].b = 5;  // :word
  } else {
    out[0] = pairs[apart ? 1 : 0];  // :pair
  }
}

template <bool kOrdered>
__global__ void total(const int* in, int* parts, unsigned* ticket, int* sum) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) parts[blockIdx.x] = in[blockIdx.x];  // :part
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> tickets(*ticket);
    is_last = tickets.fetch_add(1, kOrdered ? cuda::memory_order_acq_rel
                                            : cuda::memory_order_relaxed) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  int all = 0;
  for (int i = 0; i < static_cast<int>(gridDim.x); ++i)
    all += parts[i];  // :total
  sum[threadIdx.x] = all;
}

template <cuda::thread_scope kScope>
__global__ void hand_over(long long* data, int* flag, long long* out) {
  cuda::atomic_ref<int, kScope> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;  // :data_out
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
  } else {
    if (threadIdx.x == 0) {
      while (ready.load(cuda::memory_order_acquire) == 0) {
      }
    }
    __syncthreads();
    out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];  // :data_in
  }
}

// Masks and barriers
// -------------------------------------------------------------------------------

__device__ __noinline__ int sum_of(unsigned mask, int value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(mask, value, step);  // :shuffle
  return value;
}

__global__ void partial_warp(int* out, bool all) {
  if (all || threadIdx.x < 16) {
    out[threadIdx.x] = sum_of(all ? 0xFFFFFFFFu : 0xFFFF0000u, 1);
  }
}

__global__ void vote(int* out, bool rest) {
  if (threadIdx.x < 4) return;
  const unsigned mask = rest ? 0xFFFFFFF0u : 0x0000FFF0u;
  if (__any_sync(mask, threadIdx.x == 31)) out[threadIdx.x] = 1;  // :vote
}

__global__ void loops(int* out, bool inside) {
  __shared__ int tile[64];
  int sum = 0;
  const int mine = inside ? 1 + threadIdx.x / 32 : 2;
  for (int i = 0; i < mine; ++i) {
    tile[threadIdx.x] = i;
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    if (inside && threadIdx.x >= 32) __syncthreads();
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <typename T>
T* make(size_t count, bool clear = true) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  if (clear) cudaMemset(memory, 0, count * sizeof(T));
  return memory;
}

void memory_cases(Case& run) {
  float* plane = make<float>(64 * 8);
  float* other = make<float>(64 * 8);
  const Grid2D in{plane, 64, 8};
  const Grid2D out{other, 64, 8};
  if (run.is("row_too_far")) blur<false><<<8, 64>>>(in, out);
  if (run.is("row_clamped")) blur<true><<<8, 64>>>(in, out);
  char* small = make<char>(1000);
  char* text = make<char>(1000);
  if (run.is("tail_vector_too_far")) copy_all<<<1, 64>>>(small, text, 1000, false);
  if (run.is("tail_by_elements")) copy_all<<<1, 64>>>(small, text, 1000, true);
  if (run.is("byte_after_the_end"))
    terminate<<<1, 32>>>(reinterpret_cast<unsigned char*>(text), 1000);
  if (run.is("bytes_to_the_end")) terminate<<<1, 32>>>(reinterpret_cast<unsigned char*>(text), 999);
  if (run.is("variable_too_far")) fill_table<<<1, 64>>>(101);
  if (run.is("variable_whole")) fill_table<<<1, 64>>>(100);
  if (run.is("variable_of_many_blocks")) count_up<<<8, 32>>>(false);
  if (run.is("variable_atomic")) count_up<<<8, 32>>>(true);
  int* ints = make<int>(1024);
  if (run.is("shared_index_too_far")) use_dynamic<<<1, 64, 63 * 4>>>(ints, 32);
  if (run.is("shared_index_in_range")) use_dynamic<<<1, 64, 64 * 4>>>(ints, 32);
  cudaDeviceSynchronize();

  Particles all{make<float4>(100), make<int>(100)};
  if (run.is("freed_in_struct")) {
    cudaFree(all.position);  // :release
    age<<<1, 128>>>(all, 100);
    all.position = nullptr;
  }
  if (run.is("kept_in_struct")) age<<<1, 128>>>(all, 100);
  if (run.is("pooled_after_free") || run.is("pooled_before_free")) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    unsigned long long* pooled = nullptr;
    cudaMallocAsync(&pooled, 64 * 8, stream);
    if (run.is("pooled_before_free")) stamp<<<1, 64, 0, stream>>>(pooled, 64);
    cudaFreeAsync(pooled, stream);  // :release_async
    if (run.is("pooled_after_free")) stamp<<<1, 64, 0, stream>>>(pooled, 64);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  if (run.is("hole_in_struct")) {
    cudaFree(all.position);
    all.position = make<float4>(100, false);
    age<<<1, 128>>>(all, 100);
  }
  Item* items = make<Item>(64, false);
  double* sums = make<double>(64, false);
  if (run.is("padding_is_not_read")) {
    Item back[64];
    make_items<<<1, 64>>>(items);
    sum_items<<<1, 64>>>(items, sums);
    cudaMemcpy(back, items, sizeof back, cudaMemcpyDeviceToHost);
  }
  if (run.is("partial_sums_missing") || run.is("partial_sums_there")) {
    write_partials<<<8, 32>>>(sums, run.is("partial_sums_there") ? 8 : 7);
    sum_partials<<<1, 1>>>(sums, 8, sums + 8);
  }
  if (run.is("long_at_odd_int")) as_longs<<<1, 32>>>(ints + 1, reinterpret_cast<long long*>(sums));
  if (run.is("long_at_even_int")) as_longs<<<1, 32>>>(ints + 2, reinterpret_cast<long long*>(sums));
  __half* halves = make<__half>(256);
  if (run.is("half2_at_odd_half")) as_halves<<<1, 32>>>(halves + 1);
  if (run.is("half2_at_even_half")) as_halves<<<1, 32>>>(halves + 2);
  cudaDeviceSynchronize();
  for (void* memory :
       {(void*)plane, (void*)other, (void*)small, (void*)text, (void*)ints, (void*)all.position,
        (void*)all.alive, (void*)items, (void*)sums, (void*)halves})
    cudaFree(memory);
}

void race_cases(Case& run) {
  float* in = make<float>(4096);
  float* out = make<float>(4096);
  int* ints = make<int>(4096);
  if (run.is("async_copy_not_waited")) staged<1, false><<<1, 128>>>(in, out, 4);
  if (run.is("async_copy_of_last_stage")) staged<2, true><<<1, 128>>>(in, out, 4);
  if (run.is("async_copy_waited")) staged<1, true><<<1, 128>>>(in, out, 4);
  if (run.is("async_own_element_early")) own_element<<<1, 64>>>((int4*)in, (int4*)out, false);
  if (run.is("async_own_element")) own_element<<<1, 64>>>((int4*)in, (int4*)out, true);
  if (run.is("producer_without_barrier")) specialised<<<1, 96>>>(ints, 2, false, true);
  if (run.is("producer_refills_too_soon")) specialised<<<1, 96>>>(ints, 2, true, false);
  if (run.is("producer_with_barriers")) specialised<<<1, 96>>>(ints, 3, true, true);
  if (run.is("histogram_plain"))
    histogram<false><<<1, 128>>>((unsigned char*)in, 512, (unsigned*)ints);
  if (run.is("histogram_atomic"))
    histogram<true><<<1, 128>>>((unsigned char*)in, 512, (unsigned*)ints);
  if (run.is("last_writer_wins")) elect<<<1, 128>>>(ints, false);
  if (run.is("one_writer")) elect<<<1, 128>>>(ints, true);
  if (run.is("transpose_without_barrier"))
    transpose<16, false><<<1, dim3(16, 16)>>>((short*)in, (short*)out);
  if (run.is("transpose")) transpose<16, true><<<1, dim3(16, 16)>>>((short*)in, (short*)out);
  if (run.is("tree_without_syncwarp")) tree<false><<<1, 32>>>(in, out);
  if (run.is("tree_with_syncwarp")) tree<true><<<1, 32>>>(in, out);
  if (run.is("lanes_through_global")) lanes<<<1, 32>>>(ints, false);
  if (run.is("lanes_through_global_sync")) lanes<<<1, 32>>>(ints, true);
  unsigned char* bytes = reinterpret_cast<unsigned char*>(ints);
  if (run.is("scan_inside_block_global")) neighbours<<<1, 128>>>(bytes, bytes + 512, false);
  if (run.is("scan_inside_block_global_sync")) neighbours<<<1, 128>>>(bytes, bytes + 512, true);
  if (run.is("struct_words_of_two_blocks")) words<<<2, 32>>>((Pair*)ints, false, (Pair*)out);
  if (run.is("struct_words_apart")) words<<<2, 32>>>((Pair*)ints, true, (Pair*)out);
  if (run.is("ticket_relaxed"))
    total<false><<<8, 64>>>(ints, ints + 64, (unsigned*)ints + 128, ints + 256);
  if (run.is("ticket_acq_rel"))
    total<true><<<8, 64>>>(ints, ints + 64, (unsigned*)ints + 128, ints + 256);
  auto* longs = reinterpret_cast<long long*>(out);
  if (run.is("block_scope_release"))
    hand_over<cuda::thread_scope_block><<<2, 64>>>(longs, ints, longs + 64);
  if (run.is("device_scope_release"))
    hand_over<cuda::thread_scope_device><<<2, 64>>>(longs, ints, longs + 64);
  if (run.is("shuffle_of_half_a_warp")) partial_warp<<<1, 32>>>(ints, false);
  if (run.is("shuffle_of_all")) partial_warp<<<1, 32>>>(ints, true);
  if (run.is("vote_after_exit")) vote<<<1, 32>>>(ints, false);
  if (run.is("vote_of_the_rest")) vote<<<1, 32>>>(ints, true);
  if (run.is("barrier_in_loop")) loops<<<1, 64>>>(ints, true);
  if (run.is("barrier_after_loop")) loops<<<1, 64>>>(ints, false);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  cudaFree(ints);
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  memory_cases(run);
  race_cases(run);
  return run.end();
}
