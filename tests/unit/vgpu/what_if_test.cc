// SPDX-License-Identifier: Apache-2.0
// What a thread makes of a loaded value: which other values would have led it the same way.
#include "vgpu/exec/what_if.h"

#include <string>
#include <vector>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

/// Asks about every strong load, as it is made.
class Asker final : public AccessObserver {
 public:
  explicit Asker(std::vector<std::uint64_t> others) : others_(std::move(others)) {}
  void on_access(const Warp& warp, const Op& op, const AccessEvent& event) override {
    if (!is_strong(event.order) || event.kind == AccessKind::Store) return;
    const auto lane = static_cast<unsigned>(std::countr_zero(event.lanes));
    std::uint64_t value = 0;
    std::memcpy(&value, Memory::at(event.addresses[lane]), event.bytes);
    answers.push_back(what_if_.ask(warp, op, lane, value, others_));
    leaves = what_if_.leaves_values(warp, op, lane);
  }

  std::vector<WhatIf::Answer> answers;
  bool leaves = false;  ///< The last one is an atomic operation that changes nothing.

 private:
  std::vector<std::uint64_t> others_;
  WhatIf what_if_;
};

/// Runs `code`, which has a flag's address in %rd1 and 5 in %r9; the flag is 7.
void watch(Asker& asker, const std::string& code) {
  Environment environment;
  environment.observer = &asker;
  const auto gpu = load(
      ".visible .entry k(.param .u64 flag, .param .u64 out) {\n"
      ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<4>;\n"
      "ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out]; mov.u32 %r9, 5;\n" +
          code + "\nret; }",
      std::move(environment));
  const Address flag = gpu->upload<int>(std::vector<int>{7, 5});
  const Address out = gpu->upload<int>(std::vector<int>(8));
  run_ok(*gpu, "k", {.block = {1, 1, 1}}, flag, out);
}

/// The first answer.
WhatIf::Answer ask(const std::string& code, std::vector<std::uint64_t> others) {
  Asker asker(std::move(others));
  watch(asker, code);
  return asker.answers.empty() ? WhatIf::Answer{} : asker.answers.front();
}

constexpr const char* kLoad = "L: ld.acquire.gpu.global.u32 %r1, [%rd1];";

TEST(WhatIf, AThresholdTakesAllThatReachIt) {
  const auto answer =
      ask(std::string(kLoad) + "setp.lt.u32 %p1, %r1, %r9; @%p1 bra L;", {4, 5, 6, 8});
  EXPECT_FALSE(answer.is_poll);
  EXPECT_EQ(answer.same, 0b1110U);
}

TEST(WhatIf, ComparisonsMayBeComputed) {
  const auto answer =
      ask(std::string(kLoad) +
              "sub.s32 %r2, %r1, %r9; and.b32 %r3, %r2, -2; setp.ne.s32 %p1, %r3, 2;"
              "@%p1 bra L;",
          {6, 7, 8, 9});
  EXPECT_EQ(answer.same, 0b0110U);
}

TEST(WhatIf, TheThresholdMayComeFromMemory) {
  const auto answer = ask(
      std::string(kLoad) + "ld.global.u32 %r2, [%rd1+4]; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;",
      {4, 5});
  EXPECT_EQ(answer.same, 0b10U);
}

TEST(WhatIf, AValueThatIsKeptCountsAsItIs) {
  EXPECT_EQ(ask(std::string(kLoad) + "st.global.u32 [%rd2], %r1;", {6, 7}).same, 0b10U);
  // As an address.
  EXPECT_EQ(ask(std::string(kLoad) + "and.b32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 4;"
                                     "add.s64 %rd3, %rd3, %rd2; ld.global.u32 %r4, [%rd3];",
                {6, 5})
                .same,
            0b10U);
}

TEST(WhatIf, AValueThatNobodyWantsMayBeAny) {
  EXPECT_EQ(ask(kLoad, {1, 2, 3}).same, 0b111U);
  EXPECT_EQ(ask("red.relaxed.gpu.global.add.u32 [%rd1], 1;", {1, 2, 3}).same, 0b111U);
}

TEST(WhatIf, AValueThatIsNotChosenMakesNoDifferenceToWhatIsKept) {
  // %r3 is wanted on the way that nobody knows: where the flag's neighbour is not 5.
  const std::string kept =
      "selp.u32 %r3, %r1, 3, %p1; ld.volatile.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, %r8;"
      "setp.ne.u32 %p2, %r4, 5; @%p2 bra E; st.global.u32 [%rd2], %r3; E: st.global.u32 [%rd2+4], "
      "%r3;";
  const auto left =
      ask("mov.u32 %r8, 0; setp.gt.u32 %p1, %r9, 9;" + std::string(kLoad) + kept, {6, 7, 8});
  EXPECT_EQ(left.equal, 0b111U);
  const auto chosen =
      ask("mov.u32 %r8, 0; setp.lt.u32 %p1, %r9, 9;" + std::string(kLoad) + kept, {6, 7, 8});
  EXPECT_EQ(chosen.equal, 0b010U);
}

TEST(WhatIf, WhoComesBackPolls) {
  // Reads 7 until it has read it twice.
  const auto answer = ask("mov.u32 %r5, 0;" + std::string(kLoad) +
                              "add.u32 %r5, %r5, 1; sub.u32 %r2, %r1, 8; setp.lt.s32 %p1, %r2, 0;"
                              "setp.lt.and.u32 %p2, %r5, 2, %p1;"
                              "@%p2 bra L;",
                          {6, 8});
  EXPECT_TRUE(answer.is_poll);
}

TEST(WhatIf, WhoGoesToTheNextPlaceDoesNotPoll) {
  // Two flags, one after the other, by one instruction: 7 and 5.
  const auto answer =
      ask("mov.u32 %r5, 0; mov.u64 %rd3, %rd1;"
          "L: ld.acquire.gpu.global.u32 %r1, [%rd3];"
          "setp.lt.u32 %p1, %r1, %r9; @%p1 bra L;"
          "add.u32 %r5, %r5, 1; add.s64 %rd3, %rd3, 4;"
          "setp.lt.u32 %p2, %r5, 2; @%p2 bra L;",
          {4, 5});
  EXPECT_FALSE(answer.is_poll);
  EXPECT_EQ(answer.same, 0b10U);
}

TEST(WhatIf, WhoDoesSomethingBetweenTwoLooksDoesNotPoll) {
  const auto answer = ask("mov.u32 %r5, 0;" + std::string(kLoad) +
                              "setp.lt.u32 %p1, %r1, %r9; @%p1 bra L; ld.global.u32 %r6, [%rd2];"
                              "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2; @%p2 bra L;",
                          {4, 5});
  EXPECT_FALSE(answer.is_poll);
  EXPECT_EQ(answer.same, 0b10U);
}

TEST(WhatIf, ASumIsKept) {
  const auto answer = ask("mov.u32 %r5, 0; mov.u32 %r6, 0;" + std::string(kLoad) +
                              "add.u32 %r5, %r5, 1; add.u32 %r6, %r6, %r1;"
                              "setp.lt.u32 %p1, %r5, 2; @%p1 bra L; st.global.u32 [%rd2], %r6;",
                          {6});
  EXPECT_FALSE(answer.is_poll);
  EXPECT_EQ(answer.same, 0U);
}

bool leaves_values(const std::string& code) {
  Asker asker({});
  watch(asker, code);
  return asker.leaves;
}

TEST(WhatIf, AtomicOperationsThatChangeNothingAreReads) {
  EXPECT_TRUE(leaves_values("atom.global.or.b32 %r1, [%rd1], 0;"));
  EXPECT_TRUE(leaves_values("atom.global.and.b32 %r1, [%rd1], -1;"));
  EXPECT_TRUE(leaves_values("atom.global.max.u32 %r1, [%rd1], 0;"));
  EXPECT_TRUE(leaves_values("atom.global.cas.b32 %r1, [%rd1], %r9, %r9;"));
  EXPECT_TRUE(leaves_values("mov.u32 %r2, 0; atom.global.xor.b32 %r1, [%rd1], %r2;"));
  EXPECT_FALSE(leaves_values("atom.global.max.s32 %r1, [%rd1], 0;")) << "of negative numbers";
  EXPECT_FALSE(leaves_values("atom.global.cas.b32 %r1, [%rd1], 7, %r9;"));
  EXPECT_FALSE(leaves_values("atom.global.exch.b32 %r1, [%rd1], 7;"));
  EXPECT_FALSE(leaves_values("atom.global.or.b32 %r1, [%rd1], %r9;"));
}

}  // namespace
}  // namespace cuco::vgpu
