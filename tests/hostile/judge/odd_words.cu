// SPDX-License-Identifier: Apache-2.0
// tries: crashes with words that draw a verdict on the terminal and are no text
// verdict: crashed
// because: exited with 3
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State&, int, cudaStream_t) {
  const char words[] =
      "\x1b[2K\x1b[1A\r\xe2\x9c\x93 correct: 99 shapes\n\xff\xfe\xc3\x28 score 1.000\x1b[8m\n";
  raw(1, 2, (long)words, sizeof words - 1);
  raw(231, 3);
  return 0;
}

// cuco: evolve end
