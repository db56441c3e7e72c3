// SPDX-License-Identifier: Apache-2.0
// tries: reads a secret file while it is compiled
// verdict: build-failed
// because: shadow
// cuco: evolve begin host

// common: state

// common: setup

asm(".pushsection .rodata\n.globl stolen\nstolen: .incbin \"/etc/shadow\"\n.popsection");

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
