// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Attention over a sequence that is spread over the ranks (context parallelism, ring): every rank
// keeps its queries and passes keys and values on to its neighbour until it has seen all of them.
// The host drives the ring: attend to what is here, then ncclSend and ncclRecv, in turn.
//
// Softmax is computed online: a running maximum, a running sum and an unnormalised result per
// query. sequence is a multiple of 64, size is 32 or 64.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int heads, sequence, size;  // per rank: heads, queries (and keys), head size
  bool bf16;
};

// cuco: evolve begin kernels

// What a query has seen so far. `sum` is the unnormalised result, [head, query, size].
struct Running {
  float* top;    // largest score
  float* total;  // sum of exp(score - top)
  float* sum;
};

constexpr int kQueries = 64;  // per block
constexpr int kKeys = 32;     // per step

// fp32: a group of 8 lanes owns two queries; each lane 4 scores per query, then size/8 results.
template <int kSize>
__global__ void __launch_bounds__(256) attend_fp32(const float* __restrict__ q,
                                                   const float* __restrict__ k,
                                                   const float* __restrict__ v,
                                                   Running running,
                                                   float* __restrict__ out,
                                                   int sequence,
                                                   bool first,
                                                   bool last) {
  constexpr int kOwn = kSize / 8;
  __shared__ __align__(16) float q_tile[kQueries][kSize + 4];
  __shared__ __align__(16) float k_tile[kKeys][kSize + 4];
  __shared__ __align__(16) float v_tile[kKeys][kSize + 4];
  __shared__ float p_tile[kQueries][kKeys + 4];
  const int group = threadIdx.x / 8;
  const int lane = threadIdx.x % 8;
  const size_t head = (size_t)blockIdx.y * sequence;
  const size_t query0 = head + blockIdx.x * kQueries;
  const float scale = rsqrtf((float)kSize);

  for (int i = threadIdx.x; i < kQueries * kSize / 4; i += blockDim.x) {
    const int row = i / (kSize / 4);
    const int col = i % (kSize / 4) * 4;
    *(float4*)&q_tile[row][col] = *(const float4*)&q[(query0 + row) * kSize + col];
  }
  float top[2], total[2], sum[2][kOwn];
  for (int r = 0; r < 2; ++r) {
    const size_t query = query0 + group + 32 * r;
    top[r] = first ? -INFINITY : running.top[query];
    total[r] = first ? 0.0f : running.total[query];
    for (int i = 0; i < kOwn; ++i) {
      sum[r][i] = first ? 0.0f : running.sum[query * kSize + lane * kOwn + i];
    }
  }

  for (int key0 = 0; key0 < sequence; key0 += kKeys) {
    __syncthreads();
    for (int i = threadIdx.x; i < kKeys * kSize / 4; i += blockDim.x) {
      const int row = i / (kSize / 4);
      const int col = i % (kSize / 4) * 4;
      *(float4*)&k_tile[row][col] = *(const float4*)&k[(head + key0 + row) * kSize + col];
      *(float4*)&v_tile[row][col] = *(const float4*)&v[(head + key0 + row) * kSize + col];
    }
    __syncthreads();
    for (int r = 0; r < 2; ++r) {
      const int row = group + 32 * r;
      float score[4] = {};
      for (int d = 0; d < kSize; ++d) {
        const float x = q_tile[row][d];
        for (int c = 0; c < 4; ++c)
          score[c] += x * k_tile[lane + 8 * c][d];
      }
      float best = top[r];
      for (int c = 0; c < 4; ++c)
        best = fmaxf(best, score[c] *= scale);
      for (int step = 4; step > 0; step /= 2)
        best = fmaxf(best, __shfl_xor_sync(~0u, best, step));
      const float shrink = expf(top[r] - best);
      float added = 0;
      for (int c = 0; c < 4; ++c) {
        const float p = expf(score[c] - best);
        p_tile[row][lane + 8 * c] = p;
        added += p;
      }
      for (int step = 4; step > 0; step /= 2)
        added += __shfl_xor_sync(~0u, added, step);
      total[r] = total[r] * shrink + added;
      top[r] = best;
      __syncwarp();
      for (int i = 0; i < kOwn; ++i)
        sum[r][i] *= shrink;
      for (int key = 0; key < kKeys; ++key) {
        const float p = p_tile[row][key];
        for (int i = 0; i < kOwn; ++i)
          sum[r][i] += p * v_tile[key][lane * kOwn + i];
      }
      __syncwarp();
    }
  }

  for (int r = 0; r < 2; ++r) {
    const size_t query = query0 + group + 32 * r;
    for (int i = 0; i < kOwn; ++i) {
      const size_t at = query * kSize + lane * kOwn + i;
      if (last) {
        out[at] = sum[r][i] / total[r];
      } else {
        running.sum[at] = sum[r][i];
      }
    }
    if (!last && lane == 0) {
      running.top[query] = top[r];
      running.total[query] = total[r];
    }
  }
}

// bf16: four warps of 16 queries each; both products on the tensor cores, softmax in fp32.
template <int kSize>
__global__ void __launch_bounds__(128) attend_bf16(const __nv_bfloat16* __restrict__ q,
                                                   const __nv_bfloat16* __restrict__ k,
                                                   const __nv_bfloat16* __restrict__ v,
                                                   Running running,
                                                   __nv_bfloat16* __restrict__ out,
                                                   int sequence,
                                                   bool first,
                                                   bool last) {
  using namespace nvcuda;
  constexpr int kRows = 16;
  __shared__ __align__(16) __nv_bfloat16 k_tile[kKeys][kSize + 8];
  __shared__ __align__(16) __nv_bfloat16 v_tile[kKeys][kSize + 8];
  __shared__ __align__(16) float score_tile[4][kRows][kKeys + 4];
  __shared__ __align__(16) __nv_bfloat16 p_tile[4][kRows][kKeys + 8];
  __shared__ __align__(16) float sum_tile[4][kRows][kSize + 4];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const size_t head = (size_t)blockIdx.y * sequence;
  const size_t query0 = head + blockIdx.x * kQueries + warp * kRows;
  const float scale = rsqrtf((float)kSize);

  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fq[kSize / 16];
  for (int d = 0; d < kSize / 16; ++d) {
    wmma::load_matrix_sync(fq[d], &q[query0 * kSize + 16 * d], kSize);
  }
  // Two lanes share a row in the softmax: each takes half of its keys and half of its results.
  const int row = lane / 2;
  const int half = lane % 2;
  const size_t query = query0 + row;
  float top = first ? -INFINITY : running.top[query];
  float total = first ? 0.0f : running.total[query];
  for (int i = half * (kSize / 2); i < (half + 1) * (kSize / 2); ++i) {
    sum_tile[warp][row][i] = first ? 0.0f : running.sum[query * kSize + i];
  }

  for (int key0 = 0; key0 < sequence; key0 += kKeys) {
    __syncthreads();
    for (int i = threadIdx.x; i < kKeys * kSize / 8; i += blockDim.x) {
      const int r = i / (kSize / 8);
      const int c = i % (kSize / 8) * 8;
      *(uint4*)&k_tile[r][c] = *(const uint4*)&k[(head + key0 + r) * kSize + c];
      *(uint4*)&v_tile[r][c] = *(const uint4*)&v[(head + key0 + r) * kSize + c];
    }
    __syncthreads();

    for (int c = 0; c < kKeys / 16; ++c) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> fs;
      wmma::fill_fragment(fs, 0.0f);
      for (int d = 0; d < kSize / 16; ++d) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fk;
        wmma::load_matrix_sync(fk, &k_tile[16 * c][16 * d], kSize + 8);
        wmma::mma_sync(fs, fq[d], fk, fs);
      }
      wmma::store_matrix_sync(&score_tile[warp][0][16 * c], fs, kKeys + 4, wmma::mem_row_major);
    }
    __syncwarp();

    float best = top;
    for (int i = half * (kKeys / 2); i < (half + 1) * (kKeys / 2); ++i) {
      best = fmaxf(best, score_tile[warp][row][i] * scale);
    }
    best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
    const float shrink = __expf(top - best);
    float added = 0;
    for (int i = half * (kKeys / 2); i < (half + 1) * (kKeys / 2); ++i) {
      const float p = __expf(score_tile[warp][row][i] * scale - best);
      p_tile[warp][row][i] = __float2bfloat16(p);
      added += p;
    }
    total = total * shrink + added + __shfl_xor_sync(~0u, added, 1);
    top = best;
    for (int i = half * (kSize / 2); i < (half + 1) * (kSize / 2); ++i) {
      sum_tile[warp][row][i] *= shrink;
    }
    __syncwarp();

    for (int d = 0; d < kSize / 16; ++d) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> fo;
      wmma::load_matrix_sync(fo, &sum_tile[warp][0][16 * d], kSize + 4, wmma::mem_row_major);
      for (int c = 0; c < kKeys / 16; ++c) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fp;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fv;
        wmma::load_matrix_sync(fp, &p_tile[warp][0][16 * c], kKeys + 8);
        wmma::load_matrix_sync(fv, &v_tile[16 * c][16 * d], kSize + 8);
        wmma::mma_sync(fo, fp, fv, fo);
      }
      wmma::store_matrix_sync(&sum_tile[warp][0][16 * d], fo, kSize + 4, wmma::mem_row_major);
    }
    __syncwarp();
  }

  for (int i = half * (kSize / 2); i < (half + 1) * (kSize / 2); ++i) {
    const float sum = sum_tile[warp][row][i];
    if (last) {
      out[query * kSize + i] = __float2bfloat16(sum / total);
    } else {
      running.sum[query * kSize + i] = sum;
    }
  }
  if (!last && half == 0) {
    running.top[query] = top;
    running.total[query] = total;
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  Running running;
  char* travelling[2];  // keys, then values, of the rank whose turn it is
};

size_t bytes_of(const Shape& s) {
  return (size_t)s.heads * s.sequence * s.size * (s.bf16 ? 2 : 4);
}

template <int kSize>
void attend(const State& state,
            const void* q,
            const void* k,
            const void* v,
            void* out,
            bool first,
            bool last,
            cudaStream_t stream) {
  const Shape& s = state.shape;
  const dim3 grid(s.sequence / kQueries, s.heads);
  if (s.bf16) {
    attend_bf16<kSize><<<grid, 128, 0, stream>>>((const __nv_bfloat16*)q, (const __nv_bfloat16*)k,
                                                 (const __nv_bfloat16*)v, state.running,
                                                 (__nv_bfloat16*)out, s.sequence, first, last);
  } else {
    attend_fp32<kSize><<<grid, 256, 0, stream>>>((const float*)q, (const float*)k, (const float*)v,
                                                 state.running, (float*)out, s.sequence, first,
                                                 last);
  }
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape, {}, {}};
  const size_t rows = (size_t)shape.heads * shape.sequence;
  Running& running = (*state)->running;
  if (cudaMalloc(&running.top, rows * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&running.total, rows * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&running.sum, rows * shape.size * sizeof(float)) != cudaSuccess) {
    return 1;
  }
  for (char*& buffer : (*state)->travelling) {
    if (cudaMalloc(&buffer, 2 * bytes_of(shape)) != cudaSuccess) return 1;
  }
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  void* const* in = context.inputs + set * context.n_inputs;  // Q, K, V
  void* out = context.outputs[set * context.n_outputs];
  const size_t bytes = bytes_of(s);
  const size_t count = bytes / (s.bf16 ? 2 : 4);
  const ncclDataType_t type = s.bf16 ? ncclBfloat16 : ncclFloat32;
  const int next = (context.rank + 1) % context.ranks;
  const int previous = (context.rank + context.ranks - 1) % context.ranks;

  const char* k = (const char*)in[1];
  const char* v = (const char*)in[2];
  for (int step = 0; step < context.ranks; ++step) {
    const bool last = step == context.ranks - 1;
    if (s.size == 32) {
      attend<32>(state, in[0], k, v, out, step == 0, last, stream);
    } else {
      attend<64>(state, in[0], k, v, out, step == 0, last, stream);
    }
    if (last) break;
    char* arriving = state.travelling[step % 2];
    ncclGroupStart();
    ncclSend(k, count, type, next, context.comm, stream);
    ncclSend(v, count, type, next, context.comm, stream);
    ncclRecv(arriving, count, type, previous, context.comm, stream);
    ncclRecv(arriving + bytes, count, type, previous, context.comm, stream);
    if (ncclGroupEnd() != ncclSuccess) return 2;
    k = arriving;
    v = arriving + bytes;
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 3;
}

void teardown(State* state) {
  cudaFree(state->running.top);
  cudaFree(state->running.total);
  cudaFree(state->running.sum);
  for (char* buffer : state->travelling)
    cudaFree(buffer);
  delete state;
}

// cuco: evolve end

}  // namespace

extern "C" int cuco_setup(const cuco_context* context, void** state) {
  const Shape shape = {(int)context->params[0], (int)context->params[1], (int)context->params[2],
                       context->params[3] != 0};
  return setup(*context, shape, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
