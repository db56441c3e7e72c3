// SPDX-License-Identifier: Apache-2.0
// What the rewrites make of kernels of many spellings: kernel_library.cu says it beside each,
// tests/golden/kernels has some of the programs that come out.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "base/text.h"
#include "expert/kernels/writing/kernel_rewriter.h"
#include "expert/kernels/writing/rewrite.h"
#include "program/regions.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert::kernels {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

Result<analysis::CommunicationGraph> parse(const std::string& text) {
  return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
}

/// The comment above a kernel and its template header.
std::string comment_above(std::string_view text, std::size_t kernel) {
  auto lines = split(text.substr(0, kernel), '\n');
  for (std::size_t i = lines.size(); i-- > 0;) {
    const auto line = trim(lines[i]);
    if (line.starts_with("// ")) return std::string(line.substr(3));
  }
  return "";
}

TEST(KernelLibrary, SaysForEachKernelWhetherItTakesVectors) {
  const auto text = *system::read_file(kRoot / "tests/unit/expert/kernel_library.cu");
  const auto graph = parse(text);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  ASSERT_TRUE(graph) << graph.error().message();
  ASSERT_TRUE(graph->problems.empty()) << graph->problems[0];
  int kernels = 0;
  for (const auto& function : graph->syntax.functions) {
    if (function.kind != analysis::FunctionKind::Kernel) continue;
    ++kernels;
    const auto made =
        rewrite_kernel(KernelBody(graph->syntax, function), {}, {}, text, {.vector_bytes = 16}, {});
    const auto refused = made.refused.find("vectors");
    EXPECT_EQ(refused == made.refused.end() ? "vectors" : refused->second,
              comment_above(text, function.span.begin))
        << function.name << function.arguments;
  }
  EXPECT_GT(kernels, 20);
}

constexpr std::string_view kGeometryKernels = R"(
#define ROW blockIdx.x
extern __shared__ float dynamic[];
__device__ int number() { return blockIdx.x * blockDim.x; }
__global__ void plain(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
}
__global__ void first_thread(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  if (threadIdx.x == 0) z[blockIdx.x] = 1;
}
__global__ void own_entry(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  z[threadIdx.x] = 1;
}
__global__ void shuffled(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  z[0] = __shfl_sync(~0u, x[n], 0);
}
__global__ void calling(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  z[number()] = 1;
}
__global__ void dynamically(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  dynamic[threadIdx.x] = 1;
}
__global__ void changing(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  float last = 0;
  if (n > 3) last = z[0] = 1;
  if (last > 0) z[1] = 2;
}
__global__ void counting(float* y, float* z, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[i];
  const float old = atomicAdd(z, 1.0f);
}
__global__ void macro(float* y, const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[ROW * n + i] = x[i];
}
)";

struct Geometry {
  std::string kernel;
  design::KernelDesign design;
  std::string refusal;
};

TEST(KernelGeometry, IsRefusedWhereTheKernelCountsOnItsOwn) {
  const auto graph = parse(std::string(kGeometryKernels));
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  ASSERT_TRUE(graph && graph->problems.empty());
  const design::KernelDesign threads{.threads = 256};
  const design::KernelDesign split{.blocks_per_row = 4};
  const design::KernelDesign joined{.rows_per_block = 4};
  const std::vector<Geometry> cases = {
      {"plain", threads, ""},
      {"plain", split, ""},
      {"plain", joined, ""},
      {"plain", {.rows_per_block = 32}, "its blocks would have more than 1024 threads"},
      {"first_thread", threads, ""},
      {"first_thread", split, ""},
      {"first_thread", joined, ""},
      {"own_entry", threads, "'threadIdx.x' counts on the size of the block"},
      {"own_entry", split, ""},
      {"shuffled", threads, "'__shfl_sync(~0u, x[n], 0)' counts on the size of the block"},
      {"shuffled", split, "threads of a block talk to each other"},
      {"calling", threads, "a function that it calls uses blockDim.x"},
      {"calling", joined, "a macro or a function that it calls uses blockIdx.x"},
      {"dynamically", threads, "'dynamic' has room for 0 threads"},
      {"changing", split, "a statement both stores and changes a variable that all blocks need"},
      {"counting", split, "its atomics would be done by every block of a row"},
      {"counting", joined, ""},
      {"macro", threads, ""},
      {"macro", joined, "a macro or a function that it calls uses blockIdx.x"}};
  LaunchText launch;
  launch.threads = 64;
  launch.flat = launch.repeatable = true;
  for (const auto& [name, design, refusal] : cases) {
    const auto function =
        std::ranges::find(graph->syntax.functions, name, &analysis::Function::name);
    ASSERT_NE(function, graph->syntax.functions.end()) << name;
    const auto made = rewrite_kernel(KernelBody(graph->syntax, *function), {launch}, {},
                                     kGeometryKernels, design, {});
    EXPECT_EQ(made.refused.empty() ? "" : made.refused.begin()->second, refusal)
        << name << ": " << to_text(design);
  }
}

/// A program with a part of its text replaced, rewritten with fitted launches.
std::string fitted(std::string text, const std::string& part, const std::string& other) {
  const auto at = text.find(part);
  if (at == std::string::npos) return "the part is not there";
  text.replace(at, part.size(), other);
  const auto graph = parse(text);
  if (!graph) return graph.error().kind() == ErrorKind::NotFound ? "" : graph.error().message();
  const auto made = rewrite_kernels(
      *graph, text, {.vector_bytes = 16, .rounds = 1, .shuffles = true, .fitted = true});
  return made ? *made : made.error().message();
}

TEST(FittedLaunches, ChooseTheVersionForWholeRowsWhereNothingElseNamesTheKernel) {
  const auto seed = *system::read_file(kRoot / "workloads/fused_add_rmsnorm/program.cu");
  const std::string launch = "fused_add_rmsnorm<<<state.shape.tokens";
  const auto plain = fitted(seed, launch, launch);
  CUCO_NEEDS("libclang", !plain.empty(), "no parser");
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(plain, "template <bool kWhole, typename T>")) << plain;
  EXPECT_TRUE(has(plain, "1024) == 1) {\n    fused_add_rmsnorm<true><<<")) << plain;
  const auto conditional =
      fitted(seed, launch, "if (set >= 0) fused_add_rmsnorm<T><<<state.shape.tokens");
  EXPECT_TRUE(has(conditional, "if (set >= 0) { if (row_parts")) << conditional;
  EXPECT_TRUE(has(conditional, "fused_add_rmsnorm<false, T><<<")) << conditional;
  const auto named =
      fitted(seed, launch, "const auto kernel = fused_add_rmsnorm<T>;\n(void)kernel;\n" + launch);
  EXPECT_TRUE(has(named, "const bool whole = vectors <= batch;")) << named;
  const auto in_expression = fitted(seed, launch, "set < 0 ? (void)0 : " + launch);
  EXPECT_FALSE(has(in_expression, "kWhole")) << in_expression;
}

struct GoldenCase {
  std::string workload;
  design::KernelDesign design;
};

class KernelGolden : public testing::TestWithParam<GoldenCase> {};

TEST_P(KernelGolden, ReadsAsAnEngineerWouldWriteIt) {
  const auto& [workload, design] = GetParam();
  const auto seed = *system::read_file(kRoot / "workloads" / workload / "program.cu");
  const auto graph = parse(seed);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  const auto made = rewrite_kernels(*graph, seed, design);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_FALSE(*program::find_frozen_edit(seed, *made));
  const auto file = kRoot / "tests/golden/kernels" / (workload + ".cu");
  if (std::getenv("CUCO_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(system::write_file(file, *made));
  }
  const auto expected = system::read_file(file);
  ASSERT_TRUE(expected) << expected.error().message();
  EXPECT_EQ(*made, *expected);
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         KernelGolden,
                         testing::Values(GoldenCase{"silu_and_mul",
                                                    {.vector_bytes = 16,
                                                     .rounds = 1,
                                                     .fast_math = true,
                                                     .fitted = true}},
                                         GoldenCase{"fused_add_rmsnorm",
                                                    {.vector_bytes = 16,
                                                     .rounds = 2,
                                                     .shuffles = true,
                                                     .fast_math = true,
                                                     .read_only = true,
                                                     .fitted = true,
                                                     .threads = 512}},
                                         GoldenCase{"merge_attn_states",
                                                    {.vector_bytes = 16,
                                                     .rounds = 1,
                                                     .fast_math = true,
                                                     .read_only = true,
                                                     .fitted = true}}),
                         [](const auto& each) { return each.param.workload; });

}  // namespace
}  // namespace cuco::expert::kernels
