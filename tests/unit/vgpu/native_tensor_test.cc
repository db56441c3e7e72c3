// SPDX-License-Identifier: Apache-2.0
// Tensor cores with the CPU's arithmetic: other rounding, the same products and the same time.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/ptx_harness.h"

namespace cuco::vgpu {
namespace {

struct Kind {
  const char* shape;
  const char* type;
  unsigned a;  ///< Registers of a lane.
  unsigned b;
  bool half = false;  ///< The accumulator is f16.
};

void PrintTo(const Kind& kind, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << kind.shape << '.' << kind.type << (kind.half ? ".f16" : "");
}

std::string list(const char* name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

/// test(in, out): eight words of a lane in, its accumulator out, starting from ones, or zeros.
std::string kernel(const Kind& kind, bool from_ones) {
  const unsigned sums = kind.half ? 2 : 4;
  const char* sum_type = kind.half ? "f16" : "f32";
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry test(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b32 %a<4>, %b<4>, %c<4>, %r;\n  .reg .b64 %d<4>;\n"
      "  ld.param.u64 %d0, [in];\n  ld.param.u64 %d1, [out];\n  mov.u32 %r, %tid.x;\n"
      "  mad.wide.u32 %d2, %r, 32, %d0;\n  mad.wide.u32 %d3, %r, 16, %d1;\n"
      "  ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%d2];\n"
      "  ld.global.v4.u32 {%b0, %b1, %b2, %b3}, [%d2+16];\n";
  for (unsigned i = 0; i < 4; ++i)
    text += fmt::format("  mov.b32 %c{}, 0x{};\n", i,
                        !from_ones  ? "0"
                        : kind.half ? "3C003C00"
                                    : "3F800000");
  for (int turn = 0; turn < 3; ++turn) {
    text += fmt::format("  mma.sync.aligned.{}.row.col.{}.{}.{}.{} {}, {}, {}, {};\n", kind.shape,
                        sum_type, kind.type, kind.type, sum_type, list("c", sums),
                        list("a", kind.a), list("b", kind.b), list("c", sums));
  }
  return text + "  st.global.v4.u32 [%d3], {%c0, %c1, %c2, %c3};\n  ret;\n}\n";
}

/// A normal f16 number.
float from_half(std::uint32_t bits) {
  const float magnitude = std::ldexp(static_cast<float>(0x400U | (bits & 0x3FFU)),
                                     static_cast<int>(bits >> 10U & 0x1FU) - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

struct Products {
  std::vector<std::uint32_t> words;
  VTime end = 0;
};

class NativeTensor : public testing::TestWithParam<Kind> {
 protected:
  using Words = std::vector<std::uint32_t>;
  /// Numbers of both signs; `change` does what else there is to do to them.
  static Products multiply(bool native,
                           bool from_ones = true,
                           const std::function<void(Words&)>& change = {}) {
    hardware::GpuDescription gpu = *hardware::load_gpu_description("h200", CUCO_SOURCE_DIR);
    gpu.native_tensor = native;
    auto harness = Harness::load(kernel(GetParam(), from_ones), gpu);
    EXPECT_TRUE(harness) << harness.error().message();
    Rng rng(7);
    Words in(32 * 8);
    const std::string type = GetParam().type;
    for (std::uint32_t& word : in) {
      // Numbers of both signs between 0.5 and 2; pairs of them, or one of tf32.
      const auto bits = static_cast<std::uint32_t>(rng.next());
      word = type == "f16"    ? 0x3800'3800U | (bits & 0x87FF'87FFU)
             : type == "bf16" ? 0x3F00'3F00U | (bits & 0x80FF'80FFU)
                              : 0x3F00'0000U | (bits & 0x80FF'FFFFU);
    }
    if (change) change(in);
    const Address from = (*harness)->upload<std::uint32_t>(in);
    const Address to = (*harness)->allocate(512);
    const auto result = (*harness)->run("test", {.block = {32, 1, 1}}, from, to);
    EXPECT_TRUE(result && result->ok());
    return {(*harness)->download<std::uint32_t>(to, 128), result->grid.finished};
  }
};

TEST_P(NativeTensor, GivesTheSameProductsInTheSameTime) {
  const Products exact = multiply(false);
  const Products native = multiply(true);
  EXPECT_EQ(exact.end, native.end);
  const bool half = GetParam().half;
  double largest = 0;
  for (std::size_t i = 0; i < exact.words.size(); ++i) {
    if (half && i % 4 >= 2) continue;  // two registers of pairs
    const auto want = half ? from_half(exact.words[i]) : std::bit_cast<float>(exact.words[i]);
    const auto got = half ? from_half(native.words[i]) : std::bit_cast<float>(native.words[i]);
    largest = std::max(largest, std::abs(static_cast<double>(want) - got));
    EXPECT_NE(want, 1.0F) << "nothing was multiplied";
  }
  // Sums of up to 48 products of up to 4; of f16, the last place of a sum of 64 is 1/16.
  EXPECT_LT(largest, half ? 0.2 : 1e-4);
}

/// The factors that a lane has of A are its first four words, of B the others.
void clear_a(std::vector<std::uint32_t>& in) {
  for (std::size_t i = 0; i < in.size(); i += 8)
    std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(i), 4, 0);
}

TEST_P(NativeTensor, MakesNothingOfZeros) {
  for (const bool native : {false, true})
    EXPECT_THAT(multiply(native, false, clear_a).words, testing::Each(0));
}

TEST_P(NativeTensor, MakesNoNumberOfZerosTimesInfinity) {
  const std::string type = GetParam().type;
  const std::uint32_t infinite = type == "f16" ? 0x7C00 : type == "bf16" ? 0x7F80 : 0x7F80'0000;
  for (const bool native : {false, true}) {
    const auto words = multiply(native, false, [&](std::vector<std::uint32_t>& in) {
                         clear_a(in);
                         in[4] = infinite;  // in the first column of B
                       }).words;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t first = words[4 * lane];
      const bool is_number =
          GetParam().half ? (first & 0x7FFFU) <= 0x7C00U : (first & 0x7FFF'FFFFU) <= 0x7F80'0000U;
      EXPECT_EQ(is_number, lane % 4 != 0) << native << " " << lane << " " << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         NativeTensor,
                         testing::Values(Kind{"m16n8k16", "bf16", 4, 2},
                                         Kind{"m16n8k8", "bf16", 2, 1},
                                         Kind{"m16n8k16", "f16", 4, 2},
                                         Kind{"m16n8k8", "f16", 2, 1},
                                         Kind{"m16n8k16", "f16", 4, 2, true},
                                         Kind{"m16n8k8", "tf32", 4, 2},
                                         Kind{"m16n8k4", "tf32", 2, 1}));

}  // namespace
}  // namespace cuco::vgpu
