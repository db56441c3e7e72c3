// SPDX-License-Identifier: Apache-2.0
// Golden tests: tests/golden/analysis/NAME.cu, a program of tests/programs or a workload, is
// analysed and must print as NAME.txt.
#include <cstdlib>

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::analysis {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

class Golden : public testing::TestWithParam<std::string> {};

AnalysisOptions options() {
  return {.cuda = {}, .include_paths = {kRoot / "include"}};
}

TEST_P(Golden, GraphReadsAsExpected) {
  const auto folder = kRoot / "tests/golden/analysis";
  const auto name = GetParam();
  const auto workload = kRoot / "workloads" / name / "program.cu";
  auto source = workload;
  auto text = system::read_file(workload);
  if (!text) {
    source = kRoot / "tests/programs" / (name + ".cu");
    text = system::read_file(source);
  }
  if (!text) {
    source = folder / (name + ".cu");
    text = system::read_file(source);
  }
  ASSERT_TRUE(text);
  const auto graph = analyse(source.filename().string(), *text, options());
  const bool missing = !graph && graph.error().kind() == ErrorKind::NotFound;
  CUCO_NEEDS("libclang", !missing, graph.error().message());
  ASSERT_TRUE(graph) << graph.error().message();
  const auto expected_file = folder / (name + ".txt");
  if (std::getenv("CUCO_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(system::write_file(expected_file, to_text(*graph)));
  }
  const auto expected = system::read_file(expected_file);
  ASSERT_TRUE(expected);
  EXPECT_EQ(to_text(*graph), *expected);
}

INSTANTIATE_TEST_SUITE_P(Analysis,
                         Golden,
                         testing::Values("two_steps",
                                         "helper_function",
                                         "member_function",
                                         "broken",
                                         "streams_and_events",
                                         "ring_of_threads",
                                         "gemm_allgather",
                                         "flash_attention_cp",
                                         "moe_dispatch_combine",
                                         "silu_and_mul",
                                         // From tests/programs.
                                         "captured_graph",
                                         "expert_routing",
                                         "halo_rows",
                                         "lambdas",
                                         "macros",
                                         "sync_batch_norm"),
                         [](const auto& instance) { return instance.param; });

TEST(SyntaxTree, IsRefusedWhenItIsNone) {
  EXPECT_FALSE(parse_syntax("{"));
  EXPECT_FALSE(parse_syntax(R"({"functions":[{"name":1}]})"));
  EXPECT_FALSE(parse_syntax(R"({"globals":[{"variable":7}]})"));
  EXPECT_TRUE(parse_syntax("{}"));
}

}  // namespace
}  // namespace cuco::analysis
