// SPDX-License-Identifier: Apache-2.0
// tries: work on a side stream that the given stream does not wait for
// fidelity: final
// verdict: findings
// because: global-race
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t) {
  static cudaStream_t side = nullptr;
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  return honest(state, set, side);
}

// cuco: evolve end
