// SPDX-License-Identifier: Apache-2.0
// What each role is told, whole: tests/golden/prompts/ROLE.txt. CUCO_UPDATE_GOLDEN=1 rewrites them;
// whole runs that were recorded (tests/llm/recorded) were asked in these words, or earlier ones.
#include <cstdlib>

#include <gtest/gtest.h>

#include "agents/prompt.h"
#include "system/os/files.h"

namespace cuco::agents {
namespace {

constexpr std::string_view kSmall =
    "#include <nccl.h>\n"
    "// cuco: evolve begin kernels\n"
    "__global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n"
    "// cuco: evolve end\n";

std::shared_ptr<candidate::Judged> seed() {
  candidate::Scored scored{.seconds = 30e-6, .bound_seconds = 10e-6, .hardware = "4 x H200"};
  candidate::ShapeTime shape{.shape = "small", .seconds = 30e-6, .bound_seconds = 10e-6};
  shape.phases = {{"computation", 20e-6}, {"exposed communication", 10e-6}};
  shape.hot_spots = {{.where = {.file = "program.cu", .line = 3}, .share = 0.5, .what = "memory"}};
  scored.shapes = {shape};
  auto made = std::make_shared<candidate::Judged>();
  made->candidate.source = program::single_file("program.cu", std::string(kSmall));
  made->outcome = std::move(scored);
  return made;
}

std::shared_ptr<candidate::Judged> tried(int number,
                                         std::string_view factor,
                                         candidate::Outcome outcome) {
  std::string text(kSmall);
  text.replace(text.find("2;"), 1, factor);
  auto made = std::make_shared<candidate::Judged>();
  made->candidate.number = number;
  made->candidate.source = program::single_file("program.cu", std::move(text));
  made->candidate.directive =
      *design::parse_directive("LSA, host-ordered, global barrier, block, whole");
  made->candidate.lineage.parent = candidate::kSeed;
  made->candidate.lineage.because = "stores to peers overlap";
  made->outcome = std::move(outcome);
  return made;
}

candidate::Task task_for(const Role& role) {
  candidate::Task task{.notes = {"LSA: #1 reaches 1.50x"}};
  task.history = candidate::History(
      {seed(), tried(1, "3", candidate::Scored{.seconds = 20e-6, .baseline_seconds = 30e-6}),
       tried(2, "4", candidate::Findings{{{.kind = "race", .message = "two writers"}}, ""})});
  task.parent = 1;
  if (role.name == "coder")
    task.plan = candidate::Plan{.reason = "vectors. load 16 bytes", .expected_gain = 1.2};
  if (role.name == "repair") {
    task.operation = candidate::Operation::Repair;
    task.parent = 2;
  }
  if (role.name == "crossover") {
    task.operation = candidate::Operation::Crossover;
    task.inspirations = {2};
  }
  if (role.name == "contrast") task.inspirations = {2};
  return task;
}

Problem small_problem() {
  Problem problem;
  problem.summary = "scale: x = 2 x on all ranks";
  problem.contract = "cuco_run and its shapes";
  problem.target = "4 ranks on nvlink4";
  problem.analysis = "1 kernel, ncclAllGather (line 9)";
  problem.blocks = "block b writes bytes 4096 b to 4096 b + 4095";
  problem.api = "void* ncclGetLsaPointer(ncclWindow_t w, size_t offset, int peer);";
  problem.program = {.has_collective = true, .has_producer = true, .sends_to_all = true};
  problem.topology = {.ranks = 4, .lsa_ranks = 4, .multimem = true};
  return problem;
}

TEST(Snapshots, OfWhatEveryRoleIsToldAreKept) {
  const system::Path folder = system::Path(CUCO_SOURCE_DIR) / "tests/golden/prompts";
  const Problem problem = small_problem();
  for (const Role& role : all_roles()) {
    const Prompt prompt = make_prompt(role, problem, task_for(role));
    const std::string text = prompt.system + "\n--- prompt\n" + prompt.text;
    const auto path = folder / (std::string(role.name) + ".txt");
    if (std::getenv("CUCO_UPDATE_GOLDEN") != nullptr) {
      ASSERT_TRUE(system::make_folder(folder));
      ASSERT_TRUE(system::write_file(path, text));
      continue;
    }
    const auto kept = system::read_file(path);
    ASSERT_TRUE(kept) << kept.error().message();
    EXPECT_EQ(*kept, text) << role.name << ": CUCO_UPDATE_GOLDEN=1 rewrites it";
  }
}

}  // namespace
}  // namespace cuco::agents
