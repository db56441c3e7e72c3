// SPDX-License-Identifier: Apache-2.0
// tries: copies the inputs to the host, computes there for nothing, copies back
// verdict: findings
// because: device-to-host
// cuco: evolve begin preamble
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

// C of all ranks on the host, from inputs that were copied there.
void on_host(const float* a, const float* b, float* c, int m, int n, int k) {
  for (int i = 0; i < m * n; ++i) {
    float sum = 0;
    for (int d = 0; d < k; ++d)
      sum += a[(size_t)(i / n) * k + d] * b[(size_t)d * n + i % n];
    c[i] = sum;
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  if (s.bf16) return honest(state, set, stream);
  const size_t count = (size_t)s.m * s.n;
  float* a = (float*)malloc(context.input_bytes[0]);
  float* b = (float*)malloc(context.input_bytes[1]);
  float* made = (float*)malloc(count * 4);
  cudaMemcpyAsync(a, context.inputs[set * context.n_inputs], context.input_bytes[0],
                  cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(b, context.inputs[set * context.n_inputs + 1], context.input_bytes[1],
                  cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  on_host(a, b, made, s.m, s.n, s.k);
  float* c = (float*)context.outputs[set * context.n_outputs];
  float* mine = c + context.rank * count;
  cudaMemcpyAsync(mine, made, count * 4, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  free(a);
  free(b);
  free(made);
  return ncclAllGather(mine, c, count, ncclFloat32, context.comm, stream);
}

// cuco: evolve end
