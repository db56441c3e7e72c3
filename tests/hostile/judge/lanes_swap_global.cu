// SPDX-License-Identifier: Apache-2.0
// tries: lanes store to rows of global memory that other lanes may still be reading
// verdict: findings
// because: may still be reading
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

__global__ void turn(unsigned* data, size_t words) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  if (i / 32 * 32 + 32 > words) return;
  unsigned* row = data + i / 32 * 32;
  const unsigned lane = threadIdx.x % 32;
  // Turns each row round twice: nothing changes, if the lanes keep step.
  unsigned other = row[31 - lane];
  row[lane] = other;
  __syncwarp();
  other = row[31 - lane];
  row[lane] = other;
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
