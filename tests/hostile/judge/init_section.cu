// SPDX-License-Identifier: Apache-2.0
// tries: adds an instruction to the code that the linker runs at load time
// verdict: screen-rejected
// because: when it is loaded
// cuco: evolve begin host

// common: state

// common: setup

asm(".pushsection .init\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n .popsection");

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
