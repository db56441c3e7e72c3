// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/loop_exit.h"

#include <string>

#include <gtest/gtest.h>

#include "ptx/flow/register_access.h"
#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

Module module_of(const std::string& kind, const std::string& body) {
  Result<Module> module = parse(".version 9.0\n.target sm_90\n.address_size 64\n.visible " + kind +
                                " k() {\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n" +
                                body + "\nret;\n}\n");
  EXPECT_TRUE(module) << module.error().message();
  return module ? *std::move(module) : Module{};
}

/// Does the first instruction, which reads the clock, decide a loop?
bool decides(const std::string& body, const std::string& kind = ".entry") {
  const Module module = module_of(kind, body);
  return decides_loop(*module.find_function("k"), 0);
}

TEST(LoopExit, ADelayEndsByTheClock) {
  EXPECT_TRUE(decides("L: mov.u32 %r1, %clock; setp.lt.u32 %p1, %r1, 1000; @%p1 bra L;"));
  EXPECT_TRUE(
      decides("L: mov.u32 %r1, %clock; sub.u32 %r2, %r1, %r3; add.u32 %r4, %r4, 1;\n"
              "setp.lt.u32 %p1, %r2, 1000; @!%p1 bra E; bra L; E:"));
}

TEST(LoopExit, AClockThatIsOnlyReadDoesNot) {
  EXPECT_FALSE(decides("mov.u32 %r1, %clock; setp.lt.u32 %p1, %r1, 5; @%p1 bra E; E:"));
  EXPECT_FALSE(
      decides("L: mov.u32 %r1, %clock; mad.lo.u32 %r2, %r2, 3, %r1; add.u32 %r4, %r4, 1;\n"
              "setp.lt.u32 %p1, %r4, 100; @%p1 bra L; setp.eq.u32 %p2, %r2, 7; @%p2 bra E; E:"));
}

TEST(LoopExit, WhatCannotBeFollowedCounts) {
  // Through memory, by a condition on another instruction, or in a function that others call.
  EXPECT_TRUE(
      decides("L: mov.u32 %r1, %clock; st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];\n"
              "setp.lt.u32 %p1, %r2, 100; @%p1 bra L;"));
  EXPECT_TRUE(
      decides("L: mov.u32 %r1, %clock; setp.lt.u32 %p2, %r1, 9; @%p2 mov.u32 %r4, 1;\n"
              "setp.ne.u32 %p1, %r4, 1; @%p1 bra L;"));
  EXPECT_TRUE(decides("mov.u32 %r1, %clock;", ".func"));
}

TEST(RegisterAccess, KnowsWhatNobodyReads) {
  const Module module =
      module_of(".entry",
                "atom.global.add.u32 %r1, [%rd1], 1; atom.global.add.u32 %r2, [%rd1], 1;\n"
                "st.global.u32 [%rd1], %r2;");
  const Function& function = *module.find_function("k");
  EXPECT_FALSE(is_read(function, function.instructions[0].operands[0]));
  EXPECT_TRUE(is_read(function, function.instructions[1].operands[0]));
}

}  // namespace
}  // namespace cuco::ptx
