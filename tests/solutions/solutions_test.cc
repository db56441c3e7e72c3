// SPDX-License-Identifier: Apache-2.0
//
// The judge accepts good work: every hand-written solution is correct and beats its seed, by at
// least what is promised here. The table at the end is the summary.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "judge/judge.h"
#include "support/tenth.h"

namespace cuco::judge {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

struct Row {
  std::string workload;
  std::string program;  ///< Under the repository's root.
  double score;         ///< At least; 0.5 is the seed's.
  std::string topology;
  candidate::Fidelity fidelity = candidate::Fidelity::Final;
};

std::string solution(const std::string& workload, const std::string& name) {
  return fmt::format("tests/solutions/{}/{}.cu", workload, name);
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  const auto add = [&](const std::string& workload, const std::string& name, double score,
                       const std::string& topology = "") {
    rows.push_back({workload, solution(workload, name), score, topology});
  };
  add("gemm_allgather", "fused_lsa", 0.52);
  add("gemm_allgather", "one_kernel_lsa", 0.57);
  // The second baselines: right, and hardly faster than the seeds.
  for (const std::string workload :
       {"gemm_allgather", "flash_attention_cp", "moe_dispatch_combine"}) {
    rows.push_back({workload, fmt::format("workloads/{}/naive.cu", workload), 0.3, ""});
  }
  // Right. On an H200 with a modelled network it beats the seed (docs/loopback.md); not on the
  // scale model, where a rank's rows are a single chunk.
  add("gemm_allgather", "gin_chunks", 0.28, "ib2x2");
  add("kv_transfer", "fused_lsa", 0.65);
  add("kv_transfer", "gin_chunks", 0.52, "ib2x1");
  add("flash_attention_cp", "prefetch_lsa", 0.56);
  add("moe_dispatch_combine", "lsa_dispatch", 0.54);
  for (const std::string workload : {"silu_and_mul", "fused_add_rmsnorm", "merge_attn_states"}) {
    rows.push_back({workload, fmt::format("workloads/{}/production.cu", workload), 0.55, ""});
  }
  // A launch is more than half of its time, and the same for all.
  add("silu_and_mul", "flat_packs", 0.66);
  add("fused_add_rmsnorm", "one_pass", 0.7);
  add("merge_attn_states", "flat_packs", 0.56);
  return rows;
}

std::string name_of(const Row& row) {
  return row.workload + "_" + system::Path(row.program).stem().string();
}

/// All, or the tenth that CUCO_TENTH names.
std::vector<Row> chosen_rows() {
  std::vector<Row> rows = all_rows();
  std::vector<std::string> names;
  std::ranges::transform(rows, std::back_inserter(names), name_of);
  names = tests::chosen_tenth(names);
  std::erase_if(rows, [&](const Row& row) { return !std::ranges::count(names, name_of(row)); });
  return rows;
}

std::vector<Row> everyday_rows() {
  std::vector<Row> rows;
  for (Row row : all_rows()) {
    const std::string name = system::Path(row.program).stem().string();
    if (name != "one_kernel_lsa" && row.program != solution("silu_and_mul", "flat_packs")) continue;
    row.fidelity = candidate::Fidelity::Quick;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string>& table() {
  static std::vector<std::string> rows;
  return rows;
}

class Solution : public testing::TestWithParam<Row> {};

TEST_P(Solution, IsAcceptedAndBeatsItsSeed) {
  const Row& row = GetParam();
  const auto judge = Judge::create({.workload = kRoot / "workloads" / row.workload,
                                    .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                                    .tier = system::Tier::Own,
                                    .topology = row.topology,
                                    .small = true});  // the scores are of small shapes
  ASSERT_TRUE(judge) << judge.error().message();
  const auto text = system::read_file(kRoot / row.program);
  ASSERT_TRUE(text) << text.error().message();
  const auto outcome = (*judge)->judge(*text, row.fidelity);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto* scored = std::get_if<candidate::Scored>(&*outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(*outcome);
  EXPECT_GE(scored->score, row.score);
  table().push_back(
      fmt::format("  {:<21} {:<15} {:<9} {:>9} {:>9} {:>7.2f} {:>7.3f}", row.workload,
                  system::Path(row.program).stem().string(), (*judge)->target().topology,
                  human_seconds(scored->baseline_seconds), human_seconds(scored->seconds),
                  scored->baseline_seconds / scored->seconds, scored->score));
}

/// A program against itself: the seed's time is the same whether it is called seed or candidate.
/// Virtual time has no noise, so nothing but rounding may be between them.
class Itself : public testing::TestWithParam<const char*> {};

TEST_P(Itself, IsAsFastAsItself) {
  const auto judge = Judge::create({.workload = kRoot / "workloads" / GetParam(),
                                    .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                                    .seed = 7,
                                    .tier = system::Tier::Own});
  ASSERT_TRUE(judge) << judge.error().message();
  // Standard: with iterations among the timed ones that the seed's own trial does not have.
  const auto outcome = (*judge)->judge((*judge)->workload().program, candidate::Fidelity::Standard);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto* scored = std::get_if<candidate::Scored>(&*outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(*outcome);
  for (const candidate::ShapeTime& time : scored->shapes)
    EXPECT_NEAR(time.seconds / time.baseline_seconds, 1.0, 1e-3) << time.shape;
  EXPECT_NEAR(scored->score, 0.5, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(everyday, Itself, testing::Values("gemm_allgather", "silu_and_mul"));
INSTANTIATE_TEST_SUITE_P(all,
                         Itself,
                         testing::Values("flash_attention_cp",
                                         "moe_dispatch_combine",
                                         "kv_transfer",
                                         "fused_add_rmsnorm",
                                         "merge_attn_states"));

std::string name_of_row(const testing::TestParamInfo<Row>& row) {
  return name_of(row.param);
}

INSTANTIATE_TEST_SUITE_P(everyday, Solution, testing::ValuesIn(everyday_rows()), name_of_row);
INSTANTIATE_TEST_SUITE_P(all, Solution, testing::ValuesIn(chosen_rows()), name_of_row);

class PrintTable : public testing::Environment {
 public:
  void TearDown() override {
    fmt::print("\n  {:<21} {:<15} {:<9} {:>9} {:>9} {:>7} {:>7}\n", "workload", "program",
               "topology", "seed", "program", "x seed", "score");
    for (const std::string& row : table())
      fmt::print("{}\n", row);
    fmt::print("  times are predicted for the topology's GPU\n");
  }
};
// GoogleTest owns it.
const auto* const kPrintTable = testing::AddGlobalTestEnvironment(new PrintTable);

}  // namespace
}  // namespace cuco::judge
