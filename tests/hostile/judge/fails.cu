// SPDX-License-Identifier: Apache-2.0
// tries: gives up with an error
// verdict: crashed
// because: cuco_run failed with 17
// cuco: evolve begin host

// common: state

// common: setup

int run(State&, int, cudaStream_t) {
  return 17;
}

// cuco: evolve end
