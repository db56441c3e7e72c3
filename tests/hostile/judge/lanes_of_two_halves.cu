// SPDX-License-Identifier: Apache-2.0
// tries: two halves of a warp meet apart, and exchange words
// verdict: findings
// because: has just written
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

// Turns each row of 32 words round twice; each half of the warp waits for itself.
__global__ void turn(unsigned* data, size_t words) {
  __shared__ unsigned rows[2][8][32];
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  if (i / 32 * 32 + 32 > words) return;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned half = lane < 16 ? 0x0000FFFF : 0xFFFF0000;
  rows[0][warp][lane] = data[i];
  __syncwarp(half);
  rows[1][warp][lane] = rows[0][warp][31 - lane];
  __syncwarp(half);
  data[i] = rows[1][warp][31 - lane];
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  char* mine = c + context.rank * count * (s.bf16 ? 2 : 4);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  const size_t words = count * (s.bf16 ? 2 : 4) / 4;
  turn<<<(words + 255) / 256, 256, 0, stream>>>((unsigned*)mine, words);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
