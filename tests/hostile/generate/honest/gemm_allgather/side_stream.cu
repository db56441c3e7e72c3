// SPDX-License-Identifier: Apache-2.0
// Driven by the host: halves of the rows are multiplied and gathered as a pipeline of two streams,
// ordered by events in both directions.
// common: multiply

struct State {
  cuco_context context;
  Shape shape;
  cudaStream_t side;
  cudaEvent_t entered, multiplied, gathered;
};

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  State& s = **state;
  if (cudaStreamCreateWithFlags(&s.side, cudaStreamNonBlocking) != cudaSuccess) return 1;
  cudaEventCreateWithFlags(&s.entered, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&s.multiplied, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&s.gathered, cudaEventDisableTiming);
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const ncclDataType_t type = s.bf16 ? ncclBfloat16 : ncclFloat32;
  const size_t count = (size_t)s.m * s.n;
  const size_t bytes = count * (s.bf16 ? 2 : 4);
  char* c = (char*)context.outputs[set * context.n_outputs];
  char* mine = c + context.rank * bytes;
  cudaEventRecord(state.entered, stream);
  cudaStreamWaitEvent(state.side, state.entered);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  cudaEventRecord(state.multiplied, stream);
  cudaStreamWaitEvent(state.side, state.multiplied);
  ncclAllGather(mine, c, count, type, context.comm, state.side);
  cudaEventRecord(state.gathered, state.side);
  cudaStreamWaitEvent(stream, state.gathered);
  return cudaGetLastError();
}

void teardown(State* state) {
  cudaStreamSynchronize(state->side);
  cudaStreamDestroy(state->side);
  cudaEventDestroy(state->entered);
  cudaEventDestroy(state->multiplied);
  cudaEventDestroy(state->gathered);
  delete state;
}

// cuco: evolve end
