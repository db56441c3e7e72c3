// SPDX-License-Identifier: Apache-2.0
// Integer, logic, compare and move instructions against the host's arithmetic: each on a few
// hundred pairs that include the corner values, once with all lanes and once under a guard.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "base/rng.h"
#include "fixture.h"

namespace cuco::vgpu {
namespace {

constexpr unsigned kCount = 512;

/// Random bits, with every corner value against every other first.
std::vector<std::uint64_t> inputs(std::uint64_t seed) {
  const std::vector<std::uint64_t> corners = {0,
                                              1,
                                              2,
                                              31,
                                              32,
                                              33,
                                              0x7FFF,
                                              0x8000,
                                              0xFFFF,
                                              0x7FFFFFFF,
                                              0x80000000,
                                              0xFFFFFFFF,
                                              0x7FFFFFFFFFFFFFFF,
                                              0x8000000000000000,
                                              0xFFFFFFFFFFFFFFFF};
  Rng rng(seed);
  std::vector<std::uint64_t> out;
  for (unsigned i = 0; i < kCount; ++i) {
    const std::size_t n = corners.size();
    out.push_back(i < n * n ? corners[seed % 2 == 0 ? i / n : i % n] : rng.next());
  }
  return out;
}

/// Runs `code` with operands in registers of the class ("b32" or "b64"); result in %d.
std::vector<std::uint64_t> execute(const std::string& code,
                                   const std::string& in_class,
                                   const std::string& out_class,
                                   bool guarded) {
  const std::string text =
      fmt::format(R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<4>;
  .reg .{0} %a, %b, %c; .reg .{1} %d;
  ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u64 %rd4, [pd];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd5, %r4, 8;
  add.s64 %rd1, %rd1, %rd5; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5; add.s64 %rd4, %rd4, %rd5;
  ld.global.{2} %a, [%rd1]; ld.global.{2} %b, [%rd2]; ld.global.{2} %c, [%rd3];
  mov.{5} %d, 0;
  and.b32 %r5, %r4, 1;
  setp.ne.u32 %p1, %r5, 0;
  {3} {4}
  st.global.{5} [%rd4], %d;
  ret;
}})",
                  in_class, out_class, in_class, guarded ? "@%p1" : "", code, out_class);
  const auto gpu = load(text);
  if (gpu == nullptr) return {};
  const auto a = inputs(2);
  const auto b = inputs(3);
  const auto c = inputs(5);
  const Address pa = gpu->upload<std::uint64_t>(a);
  const Address pb = gpu->upload<std::uint64_t>(b);
  const Address pc = gpu->upload<std::uint64_t>(c);
  const Address pd = gpu->allocate(kCount * 8);
  run_ok(*gpu, "k", {.grid = {kCount / 64, 1, 1}, .block = {64, 1, 1}}, pa, pb, pc, pd);
  return gpu->download<std::uint64_t>(pd, kCount);
}

template <typename In, typename Out>
void check(const std::string& code, const std::function<Out(In, In, In)>& expected) {
  const auto name = [](std::size_t bytes) {
    return std::string(bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16");
  };
  const auto a = inputs(2);
  const auto b = inputs(3);
  const auto c = inputs(5);
  for (const bool guarded : {false, true}) {
    if (guarded && code.front() == '{') continue;  // A guard belongs to one instruction.
    const auto got = execute(code, name(sizeof(In)), name(sizeof(Out)), guarded);
    ASSERT_EQ(got.size(), kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const bool skipped = guarded && i % 2 == 0;
      const Out want =
          skipped ? Out{0}
                  : expected(static_cast<In>(a[i]), static_cast<In>(b[i]), static_cast<In>(c[i]));
      ASSERT_EQ(static_cast<Out>(got[i]), want)
          << code << " a=" << std::hex << a[i] << " b=" << b[i] << " c=" << c[i];
    }
  }
}

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

TEST(Alu, AddSubMul) {
  check<U32, U32>("add.u32 %d, %a, %b;", [](U32 a, U32 b, U32) { return a + b; });
  check<U16, U16>("sub.u16 %d, %a, %b;", [](U16 a, U16 b, U16) { return static_cast<U16>(a - b); });
  check<U64, U64>("sub.s64 %d, %a, %b;", [](U64 a, U64 b, U64) { return a - b; });
  check<S32, S32>("add.sat.s32 %d, %a, %b;", [](S32 a, S32 b, S32) {
    const S64 sum = S64{a} + b;
    return static_cast<S32>(std::clamp<S64>(sum, INT32_MIN, INT32_MAX));
  });
  check<U32, U32>("mul.lo.u32 %d, %a, %b;", [](U32 a, U32 b, U32) { return a * b; });
  check<U32, U32>("mul.hi.u32 %d, %a, %b;",
                  [](U32 a, U32 b, U32) { return static_cast<U32>(U64{a} * b >> 32U); });
  check<S32, S32>("mul.hi.s32 %d, %a, %b;",
                  [](S32 a, S32 b, S32) { return static_cast<S32>(S64{a} * b >> 32); });
  check<S32, S64>("mul.wide.s32 %d, %a, %b;", [](S32 a, S32 b, S32) { return S64{a} * b; });
  check<U16, U32>("mul.wide.u16 %d, %a, %b;", [](U16 a, U16 b, U16) { return U32{a} * b; });
  check<U64, U64>("mul.lo.u64 %d, %a, %b;", [](U64 a, U64 b, U64) { return a * b; });
  check<U32, U32>("mad.lo.u32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) { return a * b + c; });
  check<U32, U32>("mul24.lo.u32 %d, %a, %b;",
                  [](U32 a, U32 b, U32) { return (a & 0xFFFFFFU) * (b & 0xFFFFFFU); });
  check<U32, U32>("sad.u32 %d, %a, %b, %c;",
                  [](U32 a, U32 b, U32 c) { return c + (a < b ? b - a : a - b); });
}

TEST(Alu, DivideAndCompare) {
  check<U32, U32>("div.u32 %d, %a, %b;", [](U32 a, U32 b, U32) { return b == 0 ? ~0U : a / b; });
  check<U32, U32>("rem.u32 %d, %a, %b;", [](U32 a, U32 b, U32) { return b == 0 ? a : a % b; });
  check<S32, S32>("min.s32 %d, %a, %b;", [](S32 a, S32 b, S32) { return std::min(a, b); });
  check<U64, U64>("max.u64 %d, %a, %b;", [](U64 a, U64 b, U64) { return std::max(a, b); });
  check<S16, S16>("max.s16 %d, %a, %b;", [](S16 a, S16 b, S16) { return std::max(a, b); });
  check<U32, U32>("neg.s32 %d, %a;", [](U32 a, U32, U32) { return 0U - a; });
  check<S32, S32>("{ setp.lt.s32 %p2, %a, %b; selp.b32 %d, %a, %b, %p2; }",
                  [](S32 a, S32 b, S32) { return a < b ? a : b; });
}

TEST(Alu, LogicAndShifts) {
  check<U32, U32>("and.b32 %d, %a, %b;", [](U32 a, U32 b, U32) { return a & b; });
  check<U64, U64>("xor.b64 %d, %a, %b;", [](U64 a, U64 b, U64) { return a ^ b; });
  check<U16, U16>("not.b16 %d, %a;", [](U16 a, U16, U16) { return static_cast<U16>(~a); });
  check<U32, U32>("cnot.b32 %d, %a;", [](U32 a, U32, U32) { return a == 0 ? 1U : 0U; });
  check<U32, U32>("shl.b32 %d, %a, %b;", [](U32 a, U32 b, U32) { return b > 31 ? 0 : a << b; });
  check<U32, U32>("shr.u32 %d, %a, %b;", [](U32 a, U32 b, U32) { return b > 31 ? 0 : a >> b; });
  check<S32, S32>("shr.s32 %d, %a, %b;",
                  [](S32 a, S32 b, S32) { return a >> std::min<U32>(static_cast<U32>(b), 31); });
  check<U32, U32>("shf.l.wrap.b32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    return static_cast<U32>(((U64{b} << 32U | a) << (c & 31U)) >> 32U);
  });
  check<U32, U32>("shf.r.clamp.b32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    return static_cast<U32>((U64{b} << 32U | a) >> std::min(c, 32U));
  });
  check<U32, U32>("lop3.b32 %d, %a, %b, %c, 0x96;", [](U32 a, U32 b, U32 c) { return a ^ b ^ c; });
  check<U32, U32>("lop3.b32 %d, %a, %b, %c, 0xE8;",
                  [](U32 a, U32 b, U32 c) { return (a & b) | (a & c) | (b & c); });
  check<U32, U32>("prmt.b32 %d, %a, %b, 0x3210;", [](U32 a, U32, U32) { return a; });
  check<U32, U32>("prmt.b32 %d, %a, %b, 0x0123;",
                  [](U32 a, U32, U32) { return __builtin_bswap32(a); });
}

TEST(Alu, BitFields) {
  check<U32, U32>("popc.b32 %d, %a;",
                  [](U32 a, U32, U32) { return static_cast<U32>(std::popcount(a)); });
  check<U64, U32>("clz.b64 %d, %a;",
                  [](U64 a, U64, U64) { return static_cast<U32>(std::countl_zero(a)); });
  check<U32, U32>("brev.b32 %d, %a;", [](U32 a, U32, U32) {
    U32 out = 0;
    for (unsigned i = 0; i < 32; ++i)
      out |= (a >> i & 1U) << (31 - i);
    return out;
  });
  check<U32, U32>("bfind.u32 %d, %a;", [](U32 a, U32, U32) {
    return a == 0 ? ~0U : 31U - static_cast<U32>(std::countl_zero(a));
  });
  check<S32, U32>("bfind.shiftamt.s32 %d, %a;", [](S32 a, S32, S32) {
    const U32 bits = static_cast<U32>(a < 0 ? ~a : a);
    return bits == 0 ? ~0U : static_cast<U32>(std::countl_zero(bits));
  });
  check<U32, U32>("bfe.u32 %d, %a, 4, 8;", [](U32 a, U32, U32) { return a >> 4U & 0xFFU; });
  check<S32, S32>("bfe.s32 %d, %a, 28, 8;", [](S32 a, S32, S32) { return a >> 28; });
  check<U32, U32>("bfi.b32 %d, %a, %b, 8, 4;",
                  [](U32 a, U32 b, U32) { return (b & ~0xF00U) | (a & 0xFU) << 8U; });
  check<U32, U32>("bmsk.clamp.b32 %d, 4, 8;", [](U32, U32, U32) { return 0xFF0U; });
  check<U32, U32>("fns.b32 %d, %a, 0, 1;", [](U32 a, U32, U32) {
    return a == 0 ? ~0U : static_cast<U32>(std::countr_zero(a));
  });
  check<U32, U32>("dp4a.u32.u32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    for (unsigned i = 0; i < 32; i += 8)
      c += (a >> i & 0xFFU) * (b >> i & 0xFFU);
    return c;
  });
}

TEST(Alu, CarryChains) {
  check<U64, U64>(R"({ .reg .b32 %x<8>;
    mov.b64 {%x1, %x2}, %a; mov.b64 {%x3, %x4}, %b;
    add.cc.u32 %x5, %x1, %x3; addc.u32 %x6, %x2, %x4; mov.b64 %d, {%x5, %x6}; })",
                  [](U64 a, U64 b, U64) { return a + b; });
  check<U64, U64>(R"({ .reg .b32 %x<8>;
    mov.b64 {%x1, %x2}, %a; mov.b64 {%x3, %x4}, %b;
    sub.cc.u32 %x5, %x1, %x3; subc.u32 %x6, %x2, %x4; mov.b64 %d, {%x5, %x6}; })",
                  [](U64 a, U64 b, U64) { return a - b; });
}

float f(U32 bits) {
  return std::bit_cast<float>(bits);
}
U32 u(float value) {
  return std::isnan(value) ? 0x7FFFFFFFU : std::bit_cast<U32>(value);
}

TEST(Alu, FloatArithmetic) {
  check<U32, U32>("add.f32 %d, %a, %b;", [](U32 a, U32 b, U32) { return u(f(a) + f(b)); });
  check<U32, U32>("mul.rn.f32 %d, %a, %b;", [](U32 a, U32 b, U32) { return u(f(a) * f(b)); });
  check<U32, U32>("fma.rn.f32 %d, %a, %b, %c;",
                  [](U32 a, U32 b, U32 c) { return u(std::fma(f(a), f(b), f(c))); });
  check<U32, U32>("div.rn.f32 %d, %a, %b;", [](U32 a, U32 b, U32) { return u(f(a) / f(b)); });
  check<U32, U32>("sqrt.rn.f32 %d, %a;", [](U32 a, U32, U32) { return u(std::sqrt(f(a))); });
  check<U32, U32>("add.sat.f32 %d, %a, %b;", [](U32 a, U32 b, U32) {
    const float sum = f(a) + f(b);
    return std::bit_cast<U32>(sum > 0.0F ? std::min(sum, 1.0F) : 0.0F);
  });
  check<U32, U32>("abs.f32 %d, %a;", [](U32 a, U32, U32) { return u(std::fabs(f(a))); });
  check<U32, U32>("add.ftz.f32 %d, %a, %b;", [](U32 a, U32 b, U32) {
    const auto flush = [](U32 x) { return (x & 0x7F800000U) == 0 ? x & 0x80000000U : x; };
    const float sum = f(flush(a)) + f(flush(b));
    return std::isnan(sum) ? 0x7FFFFFFFU : flush(std::bit_cast<U32>(sum));
  });
  check<U32, U32>("max.f32 %d, %a, %b;", [](U32 a, U32 b, U32) {
    if (std::isnan(f(a)) && std::isnan(f(b))) return 0x7FFFFFFFU;
    if (std::isnan(f(a))) return b;
    if (std::isnan(f(b))) return a;
    if (f(a) == f(b)) return (a >> 31U) != 0 ? b : a;
    return f(a) > f(b) ? a : b;
  });
}

TEST(Alu, RoundingModesBracketTheResult) {
  const auto down = execute("add.rm.f32 %d, %a, %b;", "b32", "b32", false);
  const auto up = execute("add.rp.f32 %d, %a, %b;", "b32", "b32", false);
  const auto a = inputs(2);
  const auto b = inputs(3);
  int inexact = 0;
  for (unsigned i = 0; i < kCount; ++i) {
    const double exact = double{f(static_cast<U32>(a[i]))} + f(static_cast<U32>(b[i]));
    const float low = f(static_cast<U32>(down[i]));
    const float high = f(static_cast<U32>(up[i]));
    if (!std::isfinite(exact) || !std::isfinite(low) || !std::isfinite(high)) continue;
    EXPECT_LE(low, exact);
    EXPECT_GE(high, exact);
    EXPECT_TRUE(low == high || std::nextafter(low, INFINITY) == high);
    inexact += low != high ? 1 : 0;
  }
  EXPECT_GT(inexact, 20);
}

}  // namespace
}  // namespace cuco::vgpu
