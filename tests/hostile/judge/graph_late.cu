// SPDX-License-Identifier: Apache-2.0
// tries: launches the work as a graph on a stream of its own and returns
// verdict: scored
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t) {
  cudaStream_t side;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaStreamBeginCapture(side, cudaStreamCaptureModeRelaxed);
  const int code = honest(state, set, side);
  cudaStreamEndCapture(side, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, side);
  cudaStreamDestroy(side);
  return code;
}

// cuco: evolve end
