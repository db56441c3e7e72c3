// SPDX-License-Identifier: Apache-2.0
// tries: runs code when it is loaded, as the resolver of an indirect function
// verdict: screen-rejected
// because: indirect function
// cuco: evolve begin host

// common: state

// common: setup

asm(".pushsection .text\n"
    ".type chosen_late, @gnu_indirect_function\n"
    "chosen_late: leaq chosen(%rip), %rax\n ret\n"
    "chosen: xorl %eax, %eax\n ret\n"
    ".popsection");
extern "C" __attribute__((visibility("hidden"))) int chosen_late();

int run(State& state, int set, cudaStream_t stream) {
  return chosen_late() + honest(state, set, stream);
}

// cuco: evolve end
