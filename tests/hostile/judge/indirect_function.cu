// SPDX-License-Identifier: Apache-2.0
// tries: runs code when it is loaded, as the resolver of an indirect function
// verdict: screen-rejected
// because: indirect function
// cuco: evolve begin host

// common: state

// common: setup

static int chosen() {
  return 0;
}
extern "C" int (*resolve_it())() {
  return chosen;
}
static int late() __attribute__((ifunc("resolve_it")));

int run(State& state, int set, cudaStream_t stream) {
  return late() + honest(state, set, stream);
}

// cuco: evolve end
