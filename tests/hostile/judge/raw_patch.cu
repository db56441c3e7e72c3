// SPDX-License-Identifier: Apache-2.0
// tries: rewrites cudaStreamSynchronize of its own process; gains nothing by it
// verdict: scored
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State& state, int set, cudaStream_t stream) {
  // mprotect, then "xor eax, eax; ret" over cudaStreamSynchronize.
  unsigned char* code = (unsigned char*)&cudaStreamSynchronize;
  raw(10, (long)code & ~4095L, 8192, 7);
  code[0] = 0x31;
  code[1] = 0xC0;
  code[2] = 0xC3;
  return honest(state, set, stream);
}

// cuco: evolve end
