#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each operator finds its place, changes nothing else, and leaves frozen code, comments and strings alone."""
import unittest

import operators
from source_text import Source

PROGRAM = """\
void frozen() { __syncthreads(); }
// cuco: evolve begin kernels
constexpr int kStages = 3;
__device__ void wait_for(unsigned* flag, unsigned epoch) {
  // __syncthreads() in a comment
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
  }
}
__global__ void gather(float* out, const float* in, int rank, int ranks) {
  const char* text = "__threadfence();";
  for (int peer = 0; peer < ranks; ++peer) {
    out[(rank + peer) % ranks] = in[peer];
  }
  __threadfence_system();
  wait_for(flags, 3);
  gin.waitSignal(block, 0, expected);
  atomicAdd(&count[0], 1u);
}
// cuco: evolve end
// cuco: evolve begin host
int run(State& state, int set, cudaStream_t stream) {
  ++state.epoch;
  gather<<<1, 32, 0, stream>>>(state.out[set], state.in[set * 2], 0, 4);
  return 0;
}
// cuco: evolve end
"""


def changes(operator):
    """The lines that each mutant has and the program has not."""
    source = Source(PROGRAM)
    found = []
    for _, _, edits in operator(source):
        before, after = PROGRAM.splitlines(), source.replaced(*edits).splitlines()
        found.append([line.strip() for line in after if line not in before])
    return found


class Operators(unittest.TestCase):
    def test_blanks_what_may_not_change(self):
        code = Source(PROGRAM).code
        self.assertEqual(len(code), len(PROGRAM))
        self.assertNotIn("__syncthreads", code)
        self.assertNotIn("__threadfence();", code)

    def test_drops_what_synchronises(self):
        dropped = [source for _, _, edits in operators.drop(Source(PROGRAM)) for source in
                   [PROGRAM[edits[0][0]:edits[0][1]]]]
        self.assertEqual(dropped, ["__threadfence_system();", "wait_for(flags, 3);",
                                   "gin.waitSignal(block, 0, expected);",
                                   "gather<<<1, 32, 0, stream>>>(state.out[set], state.in[set * 2], 0, 4);"])

    def test_moves_past_a_neighbour(self):
        moved = [Source(PROGRAM).replaced(*edits) for _, _, edits in operators.move(Source(PROGRAM))]
        self.assertTrue(any("wait_for(flags, 3);\n  __threadfence_system();" in text for text in moved))
        self.assertTrue(all(sorted(text.split()) == sorted(PROGRAM.split()) for text in moved))

    def test_weakens_orders_and_scopes(self):
        self.assertEqual(changes(operators.weaken),
                         [["while (Flag(*flag).load(cuda::memory_order_relaxed) < epoch) {"],
                          ["__threadfence();"], ["__threadfence_block();"]])

    def test_demands_less(self):
        self.assertEqual(changes(operators.demand_less),
                         [["while (Flag(*flag).load(cuda::memory_order_acquire) < (epoch) - 1) {"],
                          ["gin.waitSignal(block, 0, (expected) - 1);"]])

    def test_skips_ranks(self):
        self.assertEqual(changes(operators.skip_rank),
                         [["for (int peer = 0; peer < ranks - 1; ++peer) {"],
                          ["for (int peer = 1; peer < ranks; ++peer) {"],
                          ["out[(rank)] = in[peer];"]])

    def test_small_ones(self):
        self.assertEqual(changes(operators.fewer_stages), [["constexpr int kStages = 2;"]])
        self.assertEqual(changes(operators.forget_epoch), [["(void)0;"]])
        self.assertEqual(changes(operators.plain_atomics), [["((*(&count[0]) += (1u)) - (1u));"]])
        self.assertEqual(changes(operators.idle_lane),
                         [["if ((threadIdx.x & 31) != 30) out[(rank + peer) % ranks] = in[peer];"]])
        self.assertEqual(len(changes(operators.stale_set)), 2)
        self.assertIn("gather<<<1, 32, 0, stray_stream()>>>(state.out[set], state.in[set * 2], 0, 4);",
                      changes(operators.other_stream)[0])


if __name__ == "__main__":
    unittest.main()
