// SPDX-License-Identifier: Apache-2.0
// When rows stay in registers, launches are fitted, pointers are restricted and arithmetic gets
// fast, and why not otherwise.
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "expert/kernels/writing/rewrite.h"
#include "support/require.h"

namespace cuco::expert::kernels {
namespace {

/// Doubles a row, then divides what it read by the first element's square.
constexpr std::string_view kTwoLoops = R"(
#include <cuda_runtime.h>
int next();
__global__ void twice(float* y, float* z, const float* x, int n) {
  const size_t row = (size_t)blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[row + i] = 2 * x[row + i];
  const float by = (float)n + 0.5f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) z[row + i] = x[row + i] / by;
}
int main() {
  float *a, *b, *c;
  cudaMalloc(&a, 4096);
  cudaMalloc(&b, 4096);
  cudaMalloc(&c, 4096);
)";

/// The program with this launch, rewritten; the error's text where that is refused.
std::string rewritten(const std::string& launch, const design::KernelDesign& design) {
  const auto text = std::string(kTwoLoops) + "  " + launch + "\n}\n";
  const auto graph = analysis::analyse("program.cu", text, {});
  if (!graph) return graph.error().kind() == ErrorKind::NotFound ? "" : graph.error().message();
  const auto made = rewrite_kernels(*graph, text, design);
  return made ? *made : made.error().message();
}

constexpr design::KernelDesign kRounds{.vector_bytes = 16, .rounds = 1};
const std::string kApart = "twice<<<2, 64>>>(a, b, c, 100);";
const std::string kInPlace = "twice<<<2, 64>>>(a, b, a, 100);";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(KernelRows, AreReadOnceWhereNobodyStoresToThem) {
  const auto made = rewritten(kApart, kRounds);
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_TRUE(has(made, "y_vector[e] = 2 * x_kept[round][e];")) << made;
  EXPECT_TRUE(has(made, "z_vector[e] = x_kept[round][e] / by;")) << made;
}

TEST(KernelRows, AreReadAgainWhereAPointerMayLeadToThem) {
  const auto made = rewritten(kInPlace, kRounds);
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_EQ(made, "rounds: 'y' is stored between two loops over 'x', which may be the same memory");
}

TEST(KernelRows, AreReadAgainWhereOneOfSeveralLaunchesIsInPlace) {
  const auto made = rewritten(kApart + kInPlace, kRounds);
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_EQ(made, "rounds: 'y' is stored between two loops over 'x', which may be the same memory");
}

TEST(FittedLaunches, TakeTheirSizesFromTheArguments) {
  design::KernelDesign design = kRounds;
  design.fitted = true;
  const auto made = rewritten("int m = 7; twice<<<2, 64>>>(a, b, c, 3 * m);", design);
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_TRUE(has(made, "row_grid(2, 3 * m, 4, 256)")) << made;
  EXPECT_TRUE(has(made, "row_block(3 * m, 4, 256)")) << made;
  EXPECT_EQ(rewritten("twice<<<2, 64>>>(a, b, c, next());", design),
            "fitted launches: 'next()' cannot be evaluated twice");
}

TEST(ReadOnlyLoads, NeedPointersThatLeadToDifferentMemory) {
  const auto made = rewritten(kApart, {.read_only = true});
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_TRUE(
      has(made, "float* __restrict__ y, float* __restrict__ z, const float* __restrict__ x"))
      << made;
  // In place, only the third pointer leads elsewhere for certain.
  const auto in_place = rewritten(kInPlace, {.read_only = true});
  EXPECT_TRUE(has(in_place, "float* y, float* __restrict__ z, const float* x")) << in_place;
}

TEST(FastMath, DividesOnceInFrontOfALoop) {
  const auto made = rewritten(kApart, {.vector_bytes = 16, .fast_math = true});
  CUCO_NEEDS("libclang", !made.empty(), "no parser");
  EXPECT_TRUE(has(made, "const float inverse = __fdividef(1.0f, by);")) << made;
  EXPECT_TRUE(has(made, "z[row + i] = x[row + i] * inverse;")) << made;
}

}  // namespace
}  // namespace cuco::expert::kernels
