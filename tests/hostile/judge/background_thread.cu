// SPDX-License-Identifier: Apache-2.0
// tries: works in a thread that nobody waits for
// verdict: screen-rejected
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <pthread.h>
// cuco: evolve end
// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  int calls = 0;
};

cudaError_t multiply(const Shape& s, const void* a, const void* b, void* c, cudaStream_t stream) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.n + tile - 1) / tile, (s.m + tile - 1) / tile);
  if (s.bf16) {
    gemm_bf16<<<grid, kThreads, 0, stream>>>((const __nv_bfloat16*)a, (const __nv_bfloat16*)b,
                                             (__nv_bfloat16*)c, s.m, s.n, s.k);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)a, (const float*)b, (float*)c, s.m, s.n,
                                             s.k);
  }
  return cudaGetLastError();
}

// What the seed does, for attacks that do it sometimes or almost.
int honest(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& shape = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)shape.m * shape.n;
  char* mine = c + context.rank * count * (shape.bf16 ? 2 : 4);
  multiply(shape, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  return ncclAllGather(mine, c, count, shape.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

void teardown(State* state) {
  delete state;
}

void* work(void*) {
  return nullptr;
}
int run(State& state, int set, cudaStream_t stream) {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  return honest(state, set, stream);
}

// cuco: evolve end
