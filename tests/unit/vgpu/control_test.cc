// SPDX-License-Identifier: Apache-2.0
// Divergence, calls, local memory, printf and traps.
#include "fixture.h"

namespace cuco::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kProlog = R"(
  .reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .pred %p<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
)";

std::string kernel(std::string_view body) {
  return std::string(".visible .entry k(.param .u64 out)\n{") + std::string(kProlog) +
         std::string(body) + "\n}\n";
}

std::vector<std::uint32_t> run_kernel(std::string_view text, unsigned threads = 32) {
  const auto gpu = load(text);
  if (gpu == nullptr) return {};
  const Address out = gpu->allocate(4UL * threads);
  run_ok(*gpu, "k", {.block = {threads, 1, 1}}, out);
  return gpu->download<std::uint32_t>(out, threads);
}

TEST(Control, BothSidesOfABranchRunAndMeet) {
  const auto out = run_kernel(kernel(R"(
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mov.u32 %r3, 100; bra.uni JOIN;
  EVEN:
    mov.u32 %r3, 200;
  JOIN:
    activemask.b32 %r4;
    popc.b32 %r5, %r4; add.u32 %r3, %r3, %r5;
    st.global.u32 [%rd3], %r3; ret;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], (i % 2 == 0 ? 200U : 100U) + 32U) << i;
}

TEST(Control, LanesLeaveALoopOneByOneAndExit) {
  const auto out = run_kernel(kernel(R"(
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, 3;
    setp.gt.u32 %p1, %r2, %r1;
    @%p1 st.global.u32 [%rd3], %r2;
    @%p1 exit;
    bra LOOP;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], (i / 3 + 1) * 3) << i;
}

TEST(Control, IndexedBranch) {
  const auto out = run_kernel(kernel(R"(
    and.b32 %r2, %r1, 3;
  TABLE: .branchtargets A, B, C, A;
    brx.idx %r2, TABLE;
  A: mov.u32 %r3, 1; bra END;
  B: mov.u32 %r3, 2; bra END;
  C: mov.u32 %r3, 3;
  END: st.global.u32 [%rd3], %r3; ret;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i % 4 == 3 ? 1U : i % 4 + 1) << i;
}

constexpr std::string_view kFactorial = R"(
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra MORE;
  st.param.b32 [result], 1;
  ret;
MORE:
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 arg; .param .b32 back;
    st.param.b32 [arg], %r2;
    call (back), factorial, (arg);
    ld.param.b32 %r3, [back];
  }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
}
)";

TEST(Control, RecursionWithDivergentDepth) {
  const auto out = run_kernel(std::string(kFactorial) + kernel(R"(
    and.b32 %r2, %r1, 7;
    { .param .b32 arg; .param .b32 back;
      st.param.b32 [arg], %r2; call (back), factorial, (arg); ld.param.b32 %r3, [back]; }
    st.global.u32 [%rd3], %r3; ret;)"));
  constexpr std::array kExpected = {1U, 1U, 2U, 6U, 24U, 120U, 720U, 5040U};
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], kExpected[i % 8]) << i;
}

TEST(Control, IndirectCallsThroughATable) {
  const auto out = run_kernel(R"(
.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) square(.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 table[2] = {twice, square};
)" + kernel(R"(
    and.b32 %r2, %r1, 1; mul.wide.u32 %rd4, %r2, 8;
    mov.u64 %rd5, table; add.s64 %rd6, %rd5, %rd4; ld.global.u64 %rd7, [%rd6];
    { .param .b32 arg; .param .b32 back;
      st.param.b32 [arg], %r1;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (back), %rd7, (arg), proto;
      ld.param.b32 %r3, [back]; }
    st.global.u32 [%rd3], %r3; ret;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i % 2 == 0 ? 2 * i : i * i) << i;
}

TEST(Control, LocalMemoryIsPerThread) {
  const auto out = run_kernel(kernel(R"(
    .local .align 4 .b8 depot[64];
    mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4;
    and.b32 %r2, %r1, 15; mul.wide.u32 %rd6, %r2, 4;
    add.s64 %rd7, %rd4, %rd6; st.local.u32 [%rd7], %r1;
    add.s64 %rd8, %rd5, %rd6; ld.u32 %r3, [%rd8];
    st.global.u32 [%rd3], %r3; ret;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i) << i;
}

TEST(Control, PrintfFormatsLikeC) {
  const auto gpu = load(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[32] = {116, 61, 37, 48, 51, 100, 32, 37, 46, 50, 102, 32, 37, 115, 37, 37, 10, 0};
.global .align 1 .b8 word[4] = {97, 98, 0, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[24]; .reg .b64 %rd<9>; .reg .b32 %r<4>; .reg .f64 %fd<2>;
  mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x; st.local.u32 [%rd1], %r1;
  mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%rd1+8], %fd1;
  mov.u64 %rd3, word; cvta.global.u64 %rd4, %rd3; st.local.u64 [%rd1+16], %rd4;
  mov.u64 %rd5, text; cvta.global.u64 %rd6, %rd5;
  { .param .b64 p0; .param .b64 p1; .param .b32 back;
    st.param.b64 [p0], %rd6; st.param.b64 [p1], %rd2;
    call (back), vprintf, (p0, p1); ld.param.b32 %r2, [back]; }
  ret;
})");
  const auto result = run_ok(*gpu, "k", {.block = {2, 1, 1}}, Address{0});
  EXPECT_EQ(result.printed, "t=000 1.50 ab%\nt=001 1.50 ab%\n");
}

TEST(Control, DeviceHeapGivesAndTakes) {
  const auto out = run_kernel(R"(
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
)" + kernel(R"(
    { .param .b64 n; .param .b64 back; mov.u64 %rd4, 64; st.param.b64 [n], %rd4;
      call (back), malloc, (n); ld.param.b64 %rd5, [back]; }
    st.u32 [%rd5], %r1; ld.u32 %r2, [%rd5]; st.global.u32 [%rd3], %r2;
    { .param .b64 p; st.param.b64 [p], %rd5; call free, (p); }
    ret;)"));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i) << i;
}

Trap trap_of(std::string_view text, HarnessLaunch launch = {.block = {32, 1, 1}}) {
  const auto gpu = load(text);
  if (gpu == nullptr) return {};
  const Address out = gpu->allocate(4096);
  const auto result = run(*gpu, "k", launch, out);
  EXPECT_TRUE(result.grid.trap.has_value());
  return result.grid.trap.value_or(Trap{});
}

TEST(Traps, WildPointersNameThreadAndLine) {
  const Trap trap = trap_of(".file 1 \"x.cu\"\n" + kernel(R"(
    setp.ne.u32 %p1, %r1, 5; @%p1 ret;
    mov.u64 %rd4, 0;
    .loc 1 77 0
    ld.global.u32 %r2, [%rd4+16]; st.global.u32 [%rd3], %r2; ret;)"));
  EXPECT_EQ(trap.kind, TrapKind::IllegalAddress);
  EXPECT_EQ(trap.source_line, 77U);
  EXPECT_EQ(trap.source_file, "x.cu");
  EXPECT_EQ(trap.thread[0], 5U);
  EXPECT_EQ(trap.address, 16U);
  EXPECT_THAT(to_string(trap), HasSubstr("ld.global.u32 of 4 bytes at 0x10"));
}

TEST(Traps, EveryKindOfBadAccess) {
  const auto kind = [](std::string_view body) { return trap_of(kernel(body)).kind; };
  EXPECT_EQ(kind("st.global.u32 [%rd1+2], %r1; ret;"), TrapKind::Misaligned);
  EXPECT_EQ(kind("mov.u64 %rd4, -8; st.u32 [%rd4], %r1; ret;"), TrapKind::IllegalAddress);
  EXPECT_EQ(kind("ld.shared.u32 %r2, [4096]; ret;"), TrapKind::IllegalAddress);
  EXPECT_EQ(kind("mov.u64 %rd4, 99999; ld.local.u32 %r2, [%rd4+1]; ret;"),
            TrapKind::IllegalAddress);
  EXPECT_EQ(kind("mov.u64 %rd4, 0x200040000000; ld.u32 %r2, [%rd4]; ret;"),
            TrapKind::IllegalAddress);
  EXPECT_EQ(kind("trap;"), TrapKind::Trap);
  EXPECT_EQ(kind("mov.u32 %r2, 99; bar.sync %r2; ret;"), TrapKind::IllegalInstruction);
  EXPECT_EQ(kind("bar.warp.sync 2; ret;"), TrapKind::IllegalInstruction);
}

TEST(Traps, UnsupportedOpcodesOnlyWhenExecuted) {
  const std::string_view dead =
      "bra END; tex.1d.v4.f32.s32 {%r2,%r3,%r4,%r5}, [%rd1, {%r1}]; END: ";
  const auto fine = run_kernel(kernel(std::string(dead) + "st.global.u32 [%rd3], %r1; ret;"));
  EXPECT_EQ(fine[3], 3U);
  const Trap trap = trap_of(kernel("wgmma.fence.sync.aligned; ret;"));
  EXPECT_EQ(trap.kind, TrapKind::Unsupported);
  EXPECT_THAT(trap.message, HasSubstr("wgmma.fence.sync.aligned"));
}

TEST(Control, WhatNobodyHasWrittenIsNotZero) {
  const auto registers = run_kernel(kernel("st.global.u32 [%rd3], %r9; ret;"));
  const auto local = run_kernel(
      kernel(".local .align 4 .b32 t; ld.local.u32 %r2, [t]; st.global.u32 [%rd3], %r2; ret;"));
  EXPECT_NE(registers[3], 0U);
  EXPECT_NE(local[3], 0U);
}

TEST(Hints, WhatWasDiscardedIsLost) {
  const auto kept = run_kernel(kernel("st.global.u32 [%rd3], %r1; ret;"));
  const auto lost =
      run_kernel(kernel("st.global.u32 [%rd3], %r1; discard.global.L2 [%rd1], 128; ret;"));
  EXPECT_EQ(kept[3], 3U);
  EXPECT_NE(lost[3], 3U);
}

TEST(Traps, WordsThatNobodyKnowsMakeAnInstructionAnother) {
  const Trap trap = trap_of(kernel("st.global.sideways.u32 [%rd3], %r1; ret;"));
  EXPECT_EQ(trap.kind, TrapKind::Unsupported);
  EXPECT_THAT(trap.message, HasSubstr("st.global.sideways.u32"));
}

TEST(Traps, EndlessLoopsMeetTheBudget) {
  const Trap trap = trap_of(kernel("L: add.u32 %r2, %r2, 1; bra L;"),
                            {.block = {32, 1, 1}, .instruction_budget = 100'000});
  EXPECT_EQ(trap.kind, TrapKind::Budget);
}

TEST(Traps, EndlessRecursionOverflowsTheStack) {
  const Trap trap = trap_of(".func f()\n{ call f, (); ret; }\n" + kernel("call f, (); ret;"));
  EXPECT_EQ(trap.kind, TrapKind::StackOverflow);
}

TEST(Traps, CancelStopsAGrid) {
  std::atomic<bool> cancel{true};
  Environment environment;
  environment.cancel = &cancel;
  const auto gpu = load(kernel("L: bra L;"), environment);
  const auto result = run(*gpu, "k", {}, gpu->allocate(64));
  ASSERT_TRUE(result.grid.trap);
  EXPECT_EQ(result.grid.trap->kind, TrapKind::Cancelled);
}

TEST(Traps, WrongWidthsAreRefusedNotExecuted) {
  // A 64-bit operation on 32-bit registers must not read past the register file.
  const Trap trap = trap_of(kernel("add.s64 %r2, %r1, %r1; ret;"));
  EXPECT_EQ(trap.kind, TrapKind::Unsupported);
}

}  // namespace
}  // namespace cuco::vgpu
