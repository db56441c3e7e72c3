// SPDX-License-Identifier: Apache-2.0
#include "program/knobs.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::program {
namespace {

constexpr std::string_view kKnobProgram = R"(#define THREADS 256  // of a block
#define SQUARE(x) x * 2
constexpr int kFrozen = 3;
// cuco: evolve begin all
constexpr int kBlocks = 16;
static constexpr unsigned kTile{1'024u};
const size_t kChunkBytes = (size_t)64 << 10;
constexpr int kMask = 0x7;
constexpr float kScale = 2.5f;
constexpr int kBoth = kBlocks * 2;
// constexpr int kComment = 5;
template <int Unroll = 4, typename T = float>
__global__ void gemm(const T* in, int n = 7) {
  constexpr int kInner = 8;
  int loose = 9;
}
void run() { gemm<128, float, 2><<<kBlocks, THREADS>>>(in); }
// cuco: evolve end
)";

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> list;
  for (const Knob& knob : find_knobs(text))
    list.push_back(knob.name);
  return list;
}

TEST(Knobs, AreNumbersThatTheBuildFixes) {
  EXPECT_EQ(names(kKnobProgram),
            (std::vector<std::string>{"kBlocks", "kTile", "kChunkBytes", "Unroll", "kInner",
                                      "gemm<1>", "gemm<3>"}));
  EXPECT_EQ(find_knobs(kKnobProgram)[1].value, 1024);
  EXPECT_EQ(find_knobs(kKnobProgram)[5].value, 128);
}

TEST(Knobs, AreEverywhereWhereNothingIsFrozen) {
  EXPECT_EQ(names("#define THREADS 256 // of a block\nconst int kRows = 3;\n"),
            (std::vector<std::string>{"THREADS", "kRows"}));
  // Two numbers of one name: which one?
  EXPECT_TRUE(names("void f() { const int k = 3; }\nvoid g() { const int k = 4; }\n").empty());
}

TEST(Knobs, AreTurnedWithoutTouchingTheRest) {
  const std::vector<Turn> turns = {{"kBlocks", 16, 32}, {"gemm<3>", 2, 4}, {"kTile", 1024, 512}};
  const std::string made = turned(kKnobProgram, turns);
  EXPECT_NE(made.find("kBlocks = 32;"), std::string::npos);
  EXPECT_NE(made.find("kTile{512u};"), std::string::npos);
  EXPECT_NE(made.find("gemm<128, float, 4><<<"), std::string::npos);
  const auto back = turns_between(kKnobProgram, made);
  EXPECT_EQ(back,
            (std::vector<Turn>{{"kBlocks", 16, 32}, {"kTile", 1024, 512}, {"gemm<3>", 2, 4}}));
  EXPECT_EQ(to_text(back), "kBlocks 16 to 32, kTile 1024 to 512, gemm<3> 2 to 4");
  EXPECT_TRUE(turns_between(kKnobProgram, made + "int other;").empty());
}

TEST(Knobs, AnyTextHasSome) {
  Rng rng(3);
  constexpr std::string_view kPieces[] = {"constexpr int k = ",
                                          "4",
                                          ";",
                                          "<",
                                          "<<<",
                                          ">",
                                          "#define A ",
                                          "(",
                                          "{",
                                          "}",
                                          "\n",
                                          "kernel",
                                          "// x",
                                          "\"",
                                          "const",
                                          "<<",
                                          "*"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t i = 0; i < 20; ++i)
      text += kPieces[rng.below(std::size(kPieces))];
    const auto knobs = find_knobs(text);
    if (knobs.empty()) continue;
    const std::vector<Turn> turn = {{knobs.front().name, knobs.front().value, 77}};
    EXPECT_EQ(turned(turned(text, turn), {{turn[0].knob, 77, turn[0].from}}), text) << text;
  }
}

}  // namespace
}  // namespace cuco::program
