// SPDX-License-Identifier: Apache-2.0
// tries: dies on the host
// verdict: crashed
// because: SIGSEGV
// cuco: evolve begin host

// common: state

// common: setup

int run(State&, int, cudaStream_t) {
  *(volatile int*)8 = 1;
  return 0;
}

// cuco: evolve end
