// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/split_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "program/regions.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const system::Path kRoot = CUCO_SOURCE_DIR;

Result<analysis::CommunicationGraph> graph_of(std::string_view text) {
  return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
}

class SplitPrograms : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto graph = graph_of("int main() {}");
    if (!graph && graph.error().kind() == ErrorKind::NotFound) missing_ = graph.error().message();
  }
  void SetUp() override { CUCO_NEEDS("libclang", missing_.empty(), missing_); }

  static Result<SplitStandalone> split(std::string_view text) {
    const auto graph = graph_of(text);
    if (!graph) return graph.error();
    EXPECT_TRUE(graph->problems.empty()) << graph->problems[0];
    return split_with_own_collectives(*graph, text, {});
  }
  static std::string reason(std::string_view text) {
    const auto result = split(text);
    return result ? "" : result.error().message();
  }

  static inline std::string missing_;
};

/// Regions are named so that a test can freeze one of them.
std::string program(std::string_view frozen = "") {
  std::string text = R"(// cuco: evolve begin headers
#include <nccl.h>
// cuco: evolve end
#include "cuco/workload.h"
struct State { cuco_context context; };
// cuco: evolve begin setup
bool prepare(ncclComm_t comm) { return comm != nullptr; }
// cuco: evolve end
// cuco: evolve begin run
int step(State* state, int set, cudaStream_t stream) {
  void* data = state->context.outputs[set];
  return ncclAllReduce(data, data, 64, ncclFloat, ncclMax, state->context.comm, stream);
}
// cuco: evolve end
// cuco: evolve begin teardown
void release(State* state) { delete state; }
// cuco: evolve end
extern "C" int cuco_setup(const cuco_context* context, void** state) {
  *state = new State{*context};
  return prepare(context->comm) ? 0 : 1;
}
extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return step((State*)state, set, stream);
}
extern "C" void cuco_teardown(void* state) { release((State*)state); }
)";
  if (!frozen.empty()) {
    const std::string begin = "// cuco: evolve begin " + std::string(frozen) + "\n";
    text.erase(text.find(begin), begin.size());
    const std::string end = "// cuco: evolve end\n";
    std::size_t at = 0;  // the end that now has no begin
    for (std::size_t next = 0; (next = text.find("// cuco: evolve", at)) != std::string::npos;) {
      if (text.compare(next, end.size(), end) == 0) {
        text.erase(next, end.size());
        break;
      }
      at = text.find(end, next) + end.size();
    }
  }
  return text;
}

TEST_F(SplitPrograms, OpensClosesAndReplacesInsideTheRegions) {
  const std::string text = program();
  const auto made = split(text);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->replaced, ElementsAre(Pair("ncclAllReduce", 1)));
  EXPECT_THAT(made->program, HasSubstr("return cuco::all_reduce(data, data, 64, ncclFloat"));
  // What a bool would say of a failure nobody knows.
  EXPECT_THAT(made->program,
              HasSubstr("prepare(ncclComm_t comm) {\n  (void)cuco::comm_open(comm);"));
  EXPECT_THAT(made->program, HasSubstr("release(State* state) {\n  (void)cuco::comm_close_all();"));
  EXPECT_THAT(made->infrastructure, HasSubstr("cuco::comm_open(comm)"));
  EXPECT_THAT(made->infrastructure, HasSubstr("return ncclAllReduce(data"));
  for (const std::string& version : {made->infrastructure, made->program})
    EXPECT_FALSE(*program::find_frozen_edit(text, version));
}

TEST_F(SplitPrograms, UsesNothingThatTheJudgeRefuses) {
  const auto made = split(program());
  ASSERT_TRUE(made);
  EXPECT_THAT(made->program, Not(HasSubstr("mutex")));
  EXPECT_THAT(made->program, Not(HasSubstr("thread_local")));
  EXPECT_THAT(made->program, Not(HasSubstr("#pragma once")));
  // No message is sent: their kernel is left out.
  EXPECT_THAT(made->program, Not(HasSubstr("exchange")));
}

TEST_F(SplitPrograms, SaysWhatIsFrozenThatWouldHaveToChange) {
  EXPECT_EQ(reason(program("run")), "ncclAllReduce in line 11 is outside the evolve regions");
  EXPECT_THAT(reason(program("setup")), HasSubstr("no function of set-up that may change"));
  EXPECT_THAT(reason(program("teardown")), HasSubstr("no function of teardown may change"));
  EXPECT_EQ(reason(program("headers")), "");  // the next region is at file scope, too
}

TEST_F(SplitPrograms, LeavesNoCallOfTheHost) {
  const auto seed = *system::read_file(kRoot / "workloads/kv_transfer/program.cu");
  const auto made = split(seed);
  ASSERT_TRUE(made) << made.error().message();
  const auto graph = graph_of(made->program);
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_TRUE(graph->problems.empty()) << graph->problems[0];
  EXPECT_TRUE(graph->collectives.empty());
}

TEST_F(SplitPrograms, GivesEveryDistributedWorkloadItsOwn) {
  for (const char* name :
       {"gemm_allgather", "moe_dispatch_combine", "flash_attention_cp", "kv_transfer"}) {
    SCOPED_TRACE(name);
    const auto seed = *system::read_file(kRoot / "workloads" / name / "program.cu");
    const auto made = split(seed);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_FALSE(*program::find_frozen_edit(seed, made->program));
    EXPECT_THAT(made->program, HasSubstr("if (const int failed = cuco::comm_open(context.comm))"));
  }
}

}  // namespace
}  // namespace cuco::expert
