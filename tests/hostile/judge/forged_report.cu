// SPDX-License-Identifier: Apache-2.0
// tries: writes messages of its own on every descriptor it has
// verdict: crashed
// because: not a cuco message
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State&, int, cudaStream_t) {
  unsigned words[16] = {0x2001, 0, 5, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (int fd = 3; fd < 64; ++fd)
    raw(1, fd, (long)words, sizeof words);
  return 0;
}

// cuco: evolve end
