// SPDX-License-Identifier: Apache-2.0
// tries: never comes back
// verdict: timed-out
// cuco: evolve begin host

// common: state

// common: setup

int run(State&, int, cudaStream_t) {
  for (volatile int i = 0;; i = i + 1) {
  }
}

// cuco: evolve end
