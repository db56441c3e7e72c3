// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/unfollowed.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "system/os/files.h"

namespace cuco::analysis {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kPreamble =
    "#include <nccl.h>\n"
    "using Sum = ncclResult_t (*)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, "
    "ncclComm_t, cudaStream_t);\n";

/// Nothing without the parser.
std::optional<CommunicationGraph> graph_of_text(const std::string& text) {
  auto graph = analyse("p.cu", kPreamble + text, {});
  if (!graph) return std::nullopt;
  EXPECT_THAT(graph->problems, IsEmpty());
  return *std::move(graph);
}

TEST(Unfollowed, ATableOfCallsIsNamed) {
  const auto graph = graph_of_text(
      "static Sum kTable[2] = {ncclAllReduce, nullptr};\n"
      "int main(int argc, char**) {\n"
      "  float* d = nullptr;\n"
      "  cudaMalloc(&d, 64);\n"
      "  kTable[argc - 1](d, d, 16, ncclFloat, ncclSum, nullptr, nullptr);\n"
      "}\n");
  if (!graph) GTEST_SKIP() << "no parser";
  EXPECT_THAT(graph->collectives, IsEmpty());
  EXPECT_THAT(unfollowed(*graph), ElementsAre(Unfollowed{"ncclAllReduce", 3}));
  EXPECT_EQ(names_of(unfollowed(*graph)), "ncclAllReduce (line 3)");
}

TEST(Unfollowed, WhatTheWalkFoundIsNot) {
  const auto graph = graph_of_text(
      "static void sum(float* d) {\n"
      "  ncclAllReduce(d, d, 16, ncclFloat, ncclSum, nullptr, nullptr);\n"
      "}\n"
      "int main() {\n"
      "  float* d = nullptr;\n"
      "  cudaMalloc(&d, 64);\n"
      "  sum(d);\n"
      "}\n");
  if (!graph) GTEST_SKIP() << "no parser";
  EXPECT_EQ(graph->collectives.size(), 1U);
  EXPECT_THAT(unfollowed(*graph), IsEmpty());
}

TEST(Unfollowed, DeadCodeIsNot) {
  const auto graph = graph_of_text(
      "void sum(float* d) {\n"
      "  ncclAllReduce(d, d, 16, ncclFloat, ncclSum, nullptr, nullptr);\n"
      "}\n"
      "int main() { return 0; }\n");
  if (!graph) GTEST_SKIP() << "no parser";
  EXPECT_THAT(unfollowed(*graph), IsEmpty());
}

TEST(Unfollowed, NothingIsInProgramsThatAreFollowed) {
  const system::Path root = CUCO_SOURCE_DIR;
  int programs = 0;
  const auto folder = std::getenv("CUCO_PROGRAMS");
  for (const auto& file : std::filesystem::directory_iterator(
           folder == nullptr ? root / "tests/e2e/newcomer" : system::Path(folder))) {
    if (file.path().extension() != ".cu") continue;
    const auto graph = analyse("p.cu", *system::read_file(file.path()),
                               {.include_paths = {file.path().parent_path(), root / "include"}});
    if (!graph) GTEST_SKIP() << "no parser";
    EXPECT_EQ(names_of(unfollowed(*graph)), "") << file.path();
    ++programs;
  }
  EXPECT_GE(programs, 6);
}

}  // namespace
}  // namespace cuco::analysis
