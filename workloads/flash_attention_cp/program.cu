// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Attention over a sequence that is spread over the ranks (context parallelism, ring): every rank
// keeps its queries and passes keys and values on to its neighbour until it has seen all of them.
// The host drives the ring: attend to what is here, then ncclSend and ncclRecv, in turn.
//
// Softmax is computed online: a running maximum, a running sum and an unnormalised result per
// query. sequence is a multiple of 64, size is 32 or 64.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
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
  float* top;    // largest score, before scaling in bf16
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
    float score[2][4] = {};
    for (int d = 0; d < kSize; d += 4) {
      float4 x[2];
      for (int r = 0; r < 2; ++r)
        x[r] = *(const float4*)&q_tile[group + 32 * r][d];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float4 y = *(const float4*)&k_tile[lane + 8 * c][d];
        for (int r = 0; r < 2; ++r)
          score[r][c] += x[r].x * y.x + x[r].y * y.y + x[r].z * y.z + x[r].w * y.w;
      }
    }
    for (int r = 0; r < 2; ++r) {
      float best = top[r];
      for (int c = 0; c < 4; ++c)
        best = fmaxf(best, score[r][c] *= scale);
      for (int step = 4; step > 0; step /= 2)
        best = fmaxf(best, __shfl_xor_sync(~0u, best, step));
      const float shrink = expf(top[r] - best);
      float added = 0;
      for (int c = 0; c < 4; ++c) {
        const float p = expf(score[r][c] - best);
        p_tile[group + 32 * r][lane + 8 * c] = p;
        added += p;
      }
      for (int step = 4; step > 0; step /= 2)
        added += __shfl_xor_sync(~0u, added, step);
      total[r] = total[r] * shrink + added;
      top[r] = best;
      for (int i = 0; i < kOwn; ++i)
        sum[r][i] *= shrink;
    }
    __syncwarp();
    for (int key = 0; key < kKeys; ++key) {
      const float p[2] = {p_tile[group][key], p_tile[group + 32][key]};
#pragma unroll
      for (int i = 0; i < kOwn; i += 4) {
        const float4 y = *(const float4*)&v_tile[key][lane * kOwn + i];
        for (int r = 0; r < 2; ++r) {
          sum[r][i] += p[r] * y.x;
          sum[r][i + 1] += p[r] * y.y;
          sum[r][i + 2] += p[r] * y.z;
          sum[r][i + 3] += p[r] * y.w;
        }
      }
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

// bf16: four warps of 16 queries each, or of 32 where there are enough queries: keys and values
// then leave shared memory half as often. Scores, probabilities and results stay in the registers
// of mma.m16n8k16: lane 4g + t has rows g and g + 8, columns 2t and 2t + 1 of each 16 x 8 tile.
constexpr int kThreadsBf16 = 128;
constexpr int kKeysBf16 = 64;
constexpr int kEnoughBlocks = 396;  // three for each SM of an H200, of which two fit on it

__device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices; lane i gives the address of row i % 8 of matrix i / 8.
template <bool kTransposed>
__device__ void load_matrices(unsigned (&r)[4], const void* row) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  if (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  }
}

__device__ unsigned pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <int kSize>
struct Stage {
  __nv_bfloat16 k[kKeysBf16][kSize + 8];
  __nv_bfloat16 v[kKeysBf16][kSize + 8];
};

// Online softmax of 16 queries: scores of 64 keys become probabilities.
template <int kSize>
struct Rows {
  float top[2] = {-INFINITY, -INFINITY};  // rows g and g + 8
  float total[2] = {};                    // this lane's share
  float sum[kSize / 8][4] = {};

  __device__ void weigh(float (&score)[kKeysBf16 / 8][4], float scale) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float best = top[r];
#pragma unroll
      for (int n = 0; n < kKeysBf16 / 8; ++n)
        best = fmaxf(best, fmaxf(score[n][2 * r], score[n][2 * r + 1]));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float shrink = power_of_two((top[r] - best) * scale);
      const float shift = best * scale;
      top[r] = best;
      float added = 0;
#pragma unroll
      for (int n = 0; n < kKeysBf16 / 8; ++n) {
        for (int e = 2 * r; e < 2 * r + 2; ++e)
          added += score[n][e] = power_of_two(fmaf(score[n][e], scale, -shift));
      }
      total[r] = total[r] * shrink + added;
#pragma unroll
      for (int d = 0; d < kSize / 8; ++d) {
        sum[d][2 * r] *= shrink;
        sum[d][2 * r + 1] *= shrink;
      }
    }
  }
};

// kTiles times 16 queries of a warp, and one stage of keys and values.
template <int kSize, int kTiles>
__device__ void add(Rows<kSize> (&rows)[kTiles],
                    const unsigned (&q)[kTiles][kSize / 16][4],
                    const Stage<kSize>& stage,
                    float scale) {
  const int lane = threadIdx.x % 32;
  float score[kTiles][kKeysBf16 / 8][4] = {};
#pragma unroll
  for (int n = 0; n < kKeysBf16 / 8; ++n) {
#pragma unroll
    for (int d = 0; d < kSize / 32; ++d) {
      unsigned b[4];
      load_matrices<false>(b, &stage.k[8 * n + lane % 8][32 * d + lane / 8 * 8]);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply_add(score[tile][n], q[tile][2 * d], b[0], b[1]);
        multiply_add(score[tile][n], q[tile][2 * d + 1], b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
    rows[tile].weigh(score[tile], scale);
#pragma unroll
  for (int c = 0; c < kKeysBf16 / 16; ++c) {
    unsigned p[kTiles][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[tile][i] =
            pack(score[tile][2 * c + i / 2][i % 2 * 2], score[tile][2 * c + i / 2][i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int d = 0; d < kSize / 16; ++d) {
      unsigned b[4];
      load_matrices<true>(b,
                          &stage.v[16 * c + lane / 8 % 2 * 8 + lane % 8][16 * d + lane / 16 * 8]);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply_add(rows[tile].sum[2 * d], p[tile], b[0], b[1]);
        multiply_add(rows[tile].sum[2 * d + 1], p[tile], b[2], b[3]);
      }
    }
  }
}

template <int kSize, int kTiles>
__global__ void __launch_bounds__(kThreadsBf16) attend_bf16(const __nv_bfloat16* __restrict__ q,
                                                            const __nv_bfloat16* __restrict__ k,
                                                            const __nv_bfloat16* __restrict__ v,
                                                            Running running,
                                                            __nv_bfloat16* __restrict__ out,
                                                            int sequence,
                                                            bool first,
                                                            bool last) {
  __shared__ __align__(16) Stage<kSize> stages[2];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const size_t head = (size_t)blockIdx.y * sequence;
  const int warp_query = (blockIdx.x * (kThreadsBf16 / 32) + warp) * 16 * kTiles;
  const bool idle = warp_query >= sequence;  // in the last block
  const size_t query0 = head + (idle ? 0 : warp_query) + lane / 4;
  const int column = lane % 4 * 2;
  const float scale = rsqrtf((float)kSize) * 1.44269504f;  // for powers of two

  // Starts the copy of 64 keys and values, 16 bytes at a time.
  const auto fetch = [&](int key0) {
    Stage<kSize>& stage = stages[key0 / kKeysBf16 % 2];
    for (int i = threadIdx.x; key0 < sequence && i < kKeysBf16 * kSize / 8; i += blockDim.x) {
      const int row = i / (kSize / 8);
      const int col = i % (kSize / 8) * 8;
      const size_t at = (head + key0 + row) * kSize + col;
      __pipeline_memcpy_async(&stage.k[row][col], &k[at], 16);
      __pipeline_memcpy_async(&stage.v[row][col], &v[at], 16);
    }
    __pipeline_commit();
  };
  fetch(0);
  unsigned fq[kTiles][kSize / 16][4];
  Rows<kSize> rows[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int d = 0; d < kSize / 16; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const size_t query = query0 + 16 * tile + i % 2 * 8;
        fq[tile][d][i] =
            *reinterpret_cast<const unsigned*>(&q[query * kSize + 16 * d + i / 2 * 8 + column]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2 && !first; ++r) {
      const size_t query = query0 + 16 * tile + 8 * r;
      rows[tile].top[r] = running.top[query];
      if (lane % 4 == 0) rows[tile].total[r] = running.total[query];
#pragma unroll
      for (int d = 0; d < kSize / 8; ++d) {
        const float2 sum =
            *reinterpret_cast<const float2*>(&running.sum[query * kSize + 8 * d + column]);
        rows[tile].sum[d][2 * r] = sum.x;
        rows[tile].sum[d][2 * r + 1] = sum.y;
      }
    }
  }
  for (int key0 = 0; key0 < sequence; key0 += kKeysBf16) {
    __pipeline_wait_prior(0);
    __syncthreads();  // these keys are here, and everybody is done with those before
    fetch(key0 + kKeysBf16);
    if (!idle) add(rows, fq, stages[key0 / kKeysBf16 % 2], scale);
  }
  if (idle) return;
#pragma unroll
  for (int r = 0; r < 2 * kTiles; ++r) {
    const Rows<kSize>& mine = rows[r / 2];
    const size_t query = query0 + 8 * r;
    float total = mine.total[r % 2];
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const float inverse = 1.0f / total;
#pragma unroll
    for (int d = 0; d < kSize / 8; ++d) {
      const size_t at = query * kSize + 8 * d + column;
      const float2 sum = make_float2(mine.sum[d][r % 2 * 2], mine.sum[d][r % 2 * 2 + 1]);
      if (last) {
        *reinterpret_cast<unsigned*>(&out[at]) = pack(sum.x * inverse, sum.y * inverse);
      } else {
        *reinterpret_cast<float2*>(&running.sum[at]) = sum;
      }
    }
    if (!last && lane % 4 == 0) {
      running.top[query] = mine.top[r % 2];
      running.total[query] = total;
    }
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
  if (s.bf16) {
    using T = __nv_bfloat16;
    const int large = kThreadsBf16 / 32 * 32;  // queries of a block
    const bool enough = s.sequence / large * s.heads >= kEnoughBlocks;
    const int queries = enough ? large : large / 2;
    const dim3 grid((s.sequence + queries - 1) / queries, s.heads);
    (enough ? attend_bf16<kSize, 2> : attend_bf16<kSize, 1>)<<<grid, kThreadsBf16, 0, stream>>>(
        (const T*)q, (const T*)k, (const T*)v, state.running, (T*)out, s.sequence, first, last);
  } else {
    const dim3 grid(s.sequence / kQueries, s.heads);
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
