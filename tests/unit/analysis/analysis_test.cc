// SPDX-License-Identifier: Apache-2.0
// Golden tests: tests/golden/analysis/NAME.cu is analysed and must print as NAME.txt.
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
  const auto source = name == "gemm_allgather" ? kRoot / "workloads/gemm_allgather/program.cu"
                                               : folder / (name + ".cu");
  const auto text = system::read_file(source);
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

INSTANTIATE_TEST_SUITE_P(
    Analysis,
    Golden,
    testing::Values("two_steps", "helper_function", "member_function", "broken", "gemm_allgather"),
    [](const auto& instance) { return instance.param; });

TEST(Facts, AreRefusedWhenTheyAreNoFacts) {
  EXPECT_FALSE(parse_facts("{"));
  EXPECT_FALSE(parse_facts(R"({"functions":[{"name":1}]})"));
  EXPECT_TRUE(parse_facts("{}"));
}

TEST(Graph, FollowsAliasesInACircleToNoEnd) {
  Facts facts;
  Function function{.name = "f"};
  function.variables = {{.id = "a@1", .name = "a", .root = "var:b@2"},
                        {.id = "b@2", .name = "b", .root = "var:a@1"}};
  function.calls.push_back(
      {.callee = "ncclAllGather", .arguments = {{"a", "var:a@1"}, {"b", "var:b@2"}}});
  facts.functions.push_back(function);
  const auto graph = build_graph(facts);
  ASSERT_EQ(graph.collectives.size(), 1U);
  EXPECT_EQ(graph.collectives[0].send_buffer, -1);
}

}  // namespace
}  // namespace cuco::analysis
