// SPDX-License-Identifier: Apache-2.0
// tries: honest: brackets and quotes in literals and comments, wide and raw ones, asm in a function
// verdict: scored
// cuco: evolve begin host

// common: state

// common: setup

// } /* not the end #if 0
static const wchar_t kQuote = L'"';
static const char* const kRaw = R"x(}} #define run 0 )x";
static const char32_t kBrace = U'{';

int run(State& state, int set, cudaStream_t stream) {
  asm volatile("" ::: "memory");  // } asm(
  return kQuote == kRaw[0] + (int)kBrace ? 1 : honest(state, set, stream);
}

// cuco: evolve end
