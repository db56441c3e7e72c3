// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// flash_attention_cp by hand, in one kernel: its first blocks fetch the other ranks' keys and
// values (LSA loads) chunk by chunk and raise a flag for each; the others attend to this rank's own
// part first and to each chunk as soon as it is here. Nothing of a query leaves the registers in
// between.
//
// sequence is a multiple of 64, size is 32 or 64.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int heads, sequence, size;  // per rank: heads, queries (and keys), head size
  bool bf16;
};

// cuco: evolve begin kernels

constexpr int kQueries = 64;  // per block
constexpr int kChunk = 256;   // keys that are announced together

// Keys and values of all parts: our own where they are, the others' where they will be copied to.
struct Parts {
  ncclWindow_t k, v;  // every rank's own part
  char* arriving;     // [step - 1]: keys, then values, of rank + step
  unsigned* ready;    // [(step - 1) * heads + head]: chunks that have arrived, ever
  unsigned before;    // that were there before this launch
  size_t bytes;       // of one part's keys
  int heads, sequence, ranks;
  __device__ const char* keys(int step) const {
    return step == 0 ? (const char*)ncclGetLocalPointer(k, 0) : arriving + 2 * (step - 1) * bytes;
  }
  __device__ const char* values(int step) const {
    return step == 0 ? (const char*)ncclGetLocalPointer(v, 0)
                     : arriving + (2 * (step - 1) + 1) * bytes;
  }
};

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

// Copies 16-byte vectors, eight per thread on their way at a time.
__device__ void copy(uint4* to, const uint4* from, int count) {
  for (int i0 = threadIdx.x; i0 < count; i0 += 8 * blockDim.x) {
    uint4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (i0 + j * blockDim.x < count) v[j] = from[i0 + j * blockDim.x];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (i0 + j * blockDim.x < count) to[i0 + j * blockDim.x] = v[j];
    }
  }
}

// Fetches one head of one peer's part (LSA loads), chunk by chunk. Peers' inputs are there when the
// peer has got here too; ours may go when the peers have read them.
__device__ void fetch_part(const ncclDevComm& comm, const Parts& parts, int row_bytes) {
  const int step = blockIdx.x / parts.heads + 1;
  const int head = blockIdx.x % parts.heads;
  const int peer = (comm.lsaRank + step) % parts.ranks;
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(block, cuda::memory_order_acq_rel);
  for (int key = 0; key < parts.sequence; key += kChunk) {
    const size_t at = ((size_t)head * parts.sequence + key) * row_bytes;
    const int count = min(kChunk, parts.sequence - key) * row_bytes / (int)sizeof(uint4);
    copy((uint4*)(parts.keys(step) + at), (const uint4*)ncclGetLsaPointer(parts.k, at, peer),
         count);
    copy((uint4*)(parts.values(step) + at), (const uint4*)ncclGetLsaPointer(parts.v, at, peer),
         count);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      Flag(parts.ready[blockIdx.x])
          .store(parts.before + key / kChunk + 1, cuda::memory_order_release);
    }
  }
  barrier.sync(block, cuda::memory_order_acq_rel);
}

// Waits until the chunk with `key` of the part at `step` is here; all threads of the block call it.
__device__ void wait_for(const Parts& parts, int step, int head, int key) {
  if (step == 0 || key % kChunk != 0) return;
  if (threadIdx.x == 0) {
    Flag flag(parts.ready[(step - 1) * parts.heads + head]);
    const unsigned wanted = parts.before + key / kChunk + 1;
    while ((int)(flag.load(cuda::memory_order_acquire) - wanted) < 0) {
    }
  }
  __syncthreads();
}

// fp32: a group of 8 lanes owns two queries; each lane 4 scores per query, then size/8 results.
constexpr int kThreads = 256;
constexpr int kKeys = 32;

template <int kSize>
__global__ void __launch_bounds__(kThreads) attend_fp32(ncclDevComm comm,
                                                        const float* __restrict__ q,
                                                        Parts parts,
                                                        float* __restrict__ out,
                                                        int copiers) {
  if (blockIdx.x < copiers) return fetch_part(comm, parts, kSize * sizeof(float));
  constexpr int kOwn = kSize / 8;
  __shared__ __align__(16) float q_tile[kQueries][kSize + 4];
  __shared__ __align__(16) float k_tile[kKeys][kSize + 4];
  __shared__ __align__(16) float v_tile[kKeys][kSize + 4];
  __shared__ float p_tile[kQueries][kKeys + 4];
  const int index = blockIdx.x - copiers;
  const int blocks = parts.sequence / kQueries;
  const int head_index = index / blocks;
  const int group = threadIdx.x / 8;
  const int lane = threadIdx.x % 8;
  const size_t head = (size_t)head_index * parts.sequence;
  const size_t query0 = head + index % blocks * kQueries;
  const float scale = rsqrtf((float)kSize);

  for (int i = threadIdx.x; i < kQueries * kSize / 4; i += kThreads) {
    const int row = i / (kSize / 4);
    const int col = i % (kSize / 4) * 4;
    *(float4*)&q_tile[row][col] = *(const float4*)&q[(query0 + row) * kSize + col];
  }
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {}, sum[2][kOwn] = {};
  for (int step = 0; step < parts.ranks; ++step) {
    const float* k = (const float*)parts.keys(step);
    const float* v = (const float*)parts.values(step);
    for (int key0 = 0; key0 < parts.sequence; key0 += kKeys) {
      __syncthreads();
      wait_for(parts, step, head_index, key0);
      for (int i = threadIdx.x; i < kKeys * kSize / 4; i += kThreads) {
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
  }
  for (int r = 0; r < 2; ++r) {
    float* row = &out[(query0 + group + 32 * r) * kSize + lane * kOwn];
    for (int i = 0; i < kOwn; ++i)
      row[i] = sum[r][i] / total[r];
  }
}

// bf16: four warps of 16 queries each. Scores, probabilities and results stay in the registers of
// mma.m16n8k16: lane 4g + t has rows g and g + 8, columns 2t and 2t + 1 of each 16 x 8 tile.
constexpr int kThreadsBf16 = 128;
constexpr int kKeysBf16 = 64;

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

template <int kSize>
struct Stage {
  __nv_bfloat16 k[kKeysBf16][kSize + 8];
  __nv_bfloat16 v[kKeysBf16][kSize + 8];
};

// Scores of 16 queries and 64 keys, online softmax, and the second product, for one warp.
template <int kSize>
struct Attention {
  float top[2] = {-INFINITY, -INFINITY};  // rows g and g + 8
  float total[2] = {};                    // this lane's share
  float sum[kSize / 8][4] = {};

  __device__ void add(const unsigned (&q)[kSize / 16][4], const Stage<kSize>& stage, float scale) {
    const int lane = threadIdx.x % 32;
    float score[kKeysBf16 / 8][4] = {};
#pragma unroll
    for (int n = 0; n < kKeysBf16 / 8; ++n) {
#pragma unroll
      for (int d = 0; d < kSize / 32; ++d) {
        unsigned b[4];
        load_matrices<false>(b, &stage.k[8 * n + lane % 8][32 * d + lane / 8 * 8]);
        multiply_add(score[n], q[2 * d], b[0], b[1]);
        multiply_add(score[n], q[2 * d + 1], b[2], b[3]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float best = top[r];
#pragma unroll
      for (int n = 0; n < kKeysBf16 / 8; ++n)
        best = fmaxf(best, fmaxf(score[n][2 * r], score[n][2 * r + 1]));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float shrink = exp2f((top[r] - best) * scale);
      top[r] = best;
      float added = 0;
#pragma unroll
      for (int n = 0; n < kKeysBf16 / 8; ++n) {
        for (int e = 2 * r; e < 2 * r + 2; ++e)
          added += score[n][e] = exp2f((score[n][e] - best) * scale);
      }
      total[r] = total[r] * shrink + added;
#pragma unroll
      for (int d = 0; d < kSize / 8; ++d) {
        sum[d][2 * r] *= shrink;
        sum[d][2 * r + 1] *= shrink;
      }
    }
#pragma unroll
    for (int c = 0; c < kKeysBf16 / 16; ++c) {
      const unsigned p[4] = {pack(score[2 * c][0], score[2 * c][1]),
                             pack(score[2 * c][2], score[2 * c][3]),
                             pack(score[2 * c + 1][0], score[2 * c + 1][1]),
                             pack(score[2 * c + 1][2], score[2 * c + 1][3])};
#pragma unroll
      for (int d = 0; d < kSize / 16; ++d) {
        unsigned b[4];
        load_matrices<true>(b,
                            &stage.v[16 * c + lane / 8 % 2 * 8 + lane % 8][16 * d + lane / 16 * 8]);
        multiply_add(sum[2 * d], p, b[0], b[1]);
        multiply_add(sum[2 * d + 1], p, b[2], b[3]);
      }
    }
  }
};

template <int kSize>
__global__ void __launch_bounds__(kThreadsBf16) attend_bf16(ncclDevComm comm,
                                                            const __nv_bfloat16* __restrict__ q,
                                                            Parts parts,
                                                            __nv_bfloat16* __restrict__ out,
                                                            int copiers) {
  if (blockIdx.x < copiers) return fetch_part(comm, parts, kSize * sizeof(__nv_bfloat16));
  __shared__ __align__(16) Stage<kSize> stages[2];
  const int index = blockIdx.x - copiers;
  const int blocks = parts.sequence / kQueries;
  const int head_index = index / blocks;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const size_t head = (size_t)head_index * parts.sequence;
  const size_t query = head + index % blocks * kQueries + warp * 16 + lane / 4;
  const int column = lane % 4 * 2;
  const float scale = rsqrtf((float)kSize) * 1.44269504f;  // for powers of two

  unsigned fq[kSize / 16][4];
#pragma unroll
  for (int d = 0; d < kSize / 16; ++d) {
    for (int i = 0; i < 4; ++i) {
      fq[d][i] = *reinterpret_cast<const unsigned*>(
          &q[(query + i % 2 * 8) * kSize + 16 * d + i / 2 * 8 + column]);
    }
  }
  // Tiles of keys of all parts, one after the other; the next is on its way while one is used.
  const int tiles = parts.sequence / kKeysBf16;
  const auto fetch = [&](int tile) {
    if (tile < parts.ranks * tiles) {
      const int step = tile / tiles;
      const int key0 = tile % tiles * kKeysBf16;
      wait_for(parts, step, head_index, key0);
      const __nv_bfloat16* k = (const __nv_bfloat16*)parts.keys(step) + (head + key0) * kSize;
      const __nv_bfloat16* v = (const __nv_bfloat16*)parts.values(step) + (head + key0) * kSize;
      Stage<kSize>& stage = stages[tile % 2];
      for (int i = threadIdx.x; i < kKeysBf16 * kSize / 8; i += kThreadsBf16) {
        const int row = i / (kSize / 8);
        const int col = i % (kSize / 8) * 8;
        __pipeline_memcpy_async(&stage.k[row][col], &k[row * kSize + col], 16);
        __pipeline_memcpy_async(&stage.v[row][col], &v[row * kSize + col], 16);
      }
    }
    __pipeline_commit();
  };
  Attention<kSize> attention;
  fetch(0);
  for (int tile = 0; tile < parts.ranks * tiles; ++tile) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this tile is here, and everybody is done with the one before
    fetch(tile + 1);
    attention.add(fq, stages[tile % 2], scale);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float total = attention.total[r];
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const float inverse = 1.0f / total;
#pragma unroll
    for (int d = 0; d < kSize / 8; ++d) {
      *reinterpret_cast<unsigned*>(&out[(query + 8 * r) * kSize + 8 * d + column]) =
          pack(attention.sum[d][2 * r] * inverse, attention.sum[d][2 * r + 1] * inverse);
    }
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t* windows;  // [set * 2]: keys, values
  char* arriving;
  unsigned* ready;
  unsigned before;  // chunks announced so far, per part and head
};

size_t bytes_of(const Shape& s) {
  return (size_t)s.heads * s.sequence * s.size * (s.bf16 ? 2 : 4);
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  State& s = *(*state = new State{context, shape});
  s.windows = new ncclWindow_t[2 * context.sets];
  for (int i = 0; i < 2 * context.sets; ++i) {
    void* input = context.inputs[i / 2 * context.n_inputs + 1 + i % 2];
    if (ncclCommWindowRegister(context.comm, input, bytes_of(shape), &s.windows[i],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  const int others = context.ranks - 1;
  const size_t flags = (size_t)others * shape.heads * sizeof(unsigned);
  if (cudaMalloc(&s.arriving, 2 * others * bytes_of(shape)) != cudaSuccess) return 2;
  if (cudaMalloc(&s.ready, flags) != cudaSuccess) return 2;
  if (cudaMemset(s.ready, 0, flags) != cudaSuccess) return 2;
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = others * shape.heads;
  return ncclDevCommCreate(context.comm, &requirements, &s.comm) == ncclSuccess ? 0 : 3;
}

template <int kSize>
void attend(const State& state, const Parts& parts, const void* q, void* out, cudaStream_t stream) {
  const Shape& s = state.shape;
  // Blocks start in order: those that fetch never wait behind those that need what they fetch.
  const int copiers = (parts.ranks - 1) * s.heads;
  const int grid = copiers + s.heads * (s.sequence / kQueries);
  if (s.bf16) {
    attend_bf16<kSize><<<grid, kThreadsBf16, 0, stream>>>(state.comm, (const __nv_bfloat16*)q,
                                                          parts, (__nv_bfloat16*)out, copiers);
  } else {
    attend_fp32<kSize>
        <<<grid, kThreads, 0, stream>>>(state.comm, (const float*)q, parts, (float*)out, copiers);
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const void* q = context.inputs[set * context.n_inputs];
  void* out = context.outputs[set * context.n_outputs];
  const Parts parts = {state.windows[2 * set],
                       state.windows[2 * set + 1],
                       state.arriving,
                       state.ready,
                       state.before,
                       bytes_of(s),
                       s.heads,
                       s.sequence,
                       context.ranks};
  if (s.size == 32) {
    attend<32>(state, parts, q, out, stream);
  } else {
    attend<64>(state, parts, q, out, stream);
  }
  state.before += (s.sequence + kChunk - 1) / kChunk;
  return cudaGetLastError() == cudaSuccess ? 0 : 4;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  for (int i = 0; i < 2 * state->context.sets; ++i)
    ncclCommWindowDeregister(state->context.comm, state->windows[i]);
  cudaFree(state->arriving);
  cudaFree(state->ready);
  delete[] state->windows;
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
