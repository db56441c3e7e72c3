// SPDX-License-Identifier: Apache-2.0
#include "check/race/word_states.h"

#include <random>

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

constexpr std::size_t kWords = 1024;
struct State {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};
using States = WordStates<State, kWords>;

TEST(WordStates, AreWhatWasSet) {
  // Few states, many, and ever new ones; in rows, as warps touch memory, and word by word.
  for (const std::uint64_t values : {2U, 40U, 250U, 400U, 1U << 30U}) {
    std::mt19937_64 random(values);
    States states;
    std::array<State, kWords> plain{};
    for (int step = 0; step < 4000; ++step) {
      const State state{random() % values, random() % 2};
      if (random() % 500 == 0) {
        states.set_all(state);
        plain.fill(state);
        ASSERT_TRUE(states.is_uniform());
      }
      const std::size_t first = random() % kWords;
      const std::size_t end = std::min<std::size_t>(kWords, first + 1 + random() % 64);
      for (std::size_t word = first; word < end; ++word) {
        states.set(word, state);
        plain[word] = state;
      }
    }
    for (std::size_t word = 0; word < kWords; ++word)
      ASSERT_TRUE(States::same(states.at(word), plain[word])) << values << ' ' << word;
  }
}

TEST(WordStates, RowsOfAWarpTakeLittleMemory) {
  States states;
  for (std::uint64_t round = 0; round < 100; ++round) {
    for (std::size_t word = 0; word < kWords; ++word)
      states.set(word, {round, word / 32});
  }
  EXPECT_LE(states.bytes(), kWords * sizeof(State) / 2);
}

}  // namespace
}  // namespace cuco::check
