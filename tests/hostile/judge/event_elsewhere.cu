// SPDX-License-Identifier: Apache-2.0
// tries: gathers on a stream of its own, and records the event on the one that should wait for it
// verdict: findings
// because: race
// fidelity: final
// cuco: evolve begin host

// common: state

cudaStream_t side;
cudaEvent_t before, after;

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking) != cudaSuccess ||
         cudaEventCreateWithFlags(&before, cudaEventDisableTiming) != cudaSuccess ||
         cudaEventCreateWithFlags(&after, cudaEventDisableTiming) != cudaSuccess;
}

void teardown(State* state) {
  cudaStreamDestroy(side);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t count = (size_t)s.m * s.n;
  char* mine = c + context.rank * count * (s.bf16 ? 2 : 4);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  cudaEventRecord(before, stream);
  cudaStreamWaitEvent(side, before, 0);
  ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, side);
  cudaEventRecord(after, stream);
  return cudaStreamWaitEvent(stream, after, 0);
}

// cuco: evolve end
