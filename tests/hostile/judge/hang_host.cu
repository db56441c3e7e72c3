// SPDX-License-Identifier: Apache-2.0
// tries: never comes back
// verdict: timed-out
// because: cuco_run took more than
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State&, int, cudaStream_t) {
  while (true)
    raw(34);  // pause
}

// cuco: evolve end
