// SPDX-License-Identifier: Apache-2.0
//
// At full shapes no element goes unseen: the GPU reference finds what sampling in fp64 would miss.
// The full shape is a small one here, the way is the same.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "workload/draw.h"

namespace cuco::judge {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string replaced_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Check and hidden shapes of some secret, listed with the use "full".
std::string drawn_as_full(const workload::Workload& workload) {
  std::string text;
  const auto drawn = workload::draw_shapes(workload, workload::Secret::from("full", 1));
  for (const workload::Shape& shape : *drawn) {
    if (shape.uses.contains(workload::Use::Near)) continue;
    text += fmt::format("[[shape]]\nname = \"full {}\"\nuse = [\"full\"]\nparams = {{", shape.name);
    for (std::size_t i = 0; i < shape.params.size(); ++i)
      text += fmt::format("{} {} = {}", i > 0 ? "," : "", workload.params[i], shape.params[i]);
    text += " }\n\n";
  }
  return text;
}

/// Every shipped workload, some drawn shapes taken for full ones: the seed's results agree with the
/// fp64 oracle and with the fp32 reference, so the two agree with each other.
class all_References : public testing::TestWithParam<const char*> {};

TEST_P(all_References, AgreeWithTheOracle) {
  const system::Path source = system::Path(CUCO_SOURCE_DIR) / "workloads" / GetParam();
  const system::TempFolder folder = *system::TempFolder::create();
  for (const auto& entry : std::filesystem::directory_iterator(source)) {
    const std::string name = entry.path().filename();
    std::string text = *system::read_file(entry.path());
    if (name == "workload.toml") {
      text = replaced_all(text, "use = [\"full\"]", "use = []");
      text = replaced_all(text, "\"time\", \"full\"", "\"time\"");
      text.insert(text.find("[[shape]]"), drawn_as_full(*workload::load_workload(source)));
    }
    ASSERT_TRUE(system::write_file(folder.path() / name, text));
  }
  const auto judge = Judge::create({.workload = folder.path(),
                                    .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                                    .tier = system::Tier::Own,
                                    .full = true});
  ASSERT_TRUE(judge) << judge.error().message();
  const auto outcome = (*judge)->judge((*judge)->workload().program, candidate::Fidelity::Quick);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto* scored = std::get_if<candidate::Scored>(&*outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(*outcome);
  const auto full = (*judge)->workload().shapes_for(workload::Use::Full).size();
  EXPECT_GE(full, 4U);  // all that were drawn
  EXPECT_EQ(scored->checked_shapes, 1 + static_cast<int>(full));
}

INSTANTIATE_TEST_SUITE_P(shipped,
                         all_References,
                         testing::Values("gemm_allgather",
                                         "flash_attention_cp",
                                         "moe_dispatch_combine",
                                         "kv_transfer",
                                         "silu_and_mul",
                                         "fused_add_rmsnorm",
                                         "merge_attn_states"),
                         [](const auto& workload) { return std::string(workload.param); });

/// gemm_allgather with one full shape, of 4 x 96 x 256 elements on each rank.
class everyday_FullShapes : public testing::Test {
 protected:
  void SetUp() override {
    const system::Path source = system::Path(CUCO_SOURCE_DIR) / "workloads/gemm_allgather";
    for (const char* name : {"program.cu", "oracle.cpp", "reference.cu", "workload.toml"}) {
      std::string text = *system::read_file(source / name);
      if (std::string_view(name) == "workload.toml") {
        text = replaced(text, "params = { m = 512, n = 2048, k = 4096, bf16 = 1 }",
                        "params = { m = 96, n = 256, k = 32, bf16 = 1 }");
        text = replaced(text, "use = [\"full\"]\nparams = { m = 2048",
                        "use = []\nparams = { m = 2048");
        text = replaced(text, "iterations = 3", "iterations = 1");
      }
      ASSERT_TRUE(system::write_file(folder_.path() / name, text));
    }
    auto judge = Judge::create({.workload = folder_.path(),
                                .cache = system::Path(CUCO_BINARY_DIR) / "judge-cache",
                                .tier = system::Tier::Own,
                                .full = true});
    ASSERT_TRUE(judge) << judge.error().message();
    judge_ = *std::move(judge);
  }

  candidate::Outcome judged(const std::string& program) {
    auto outcome = judge_->judge(program, candidate::Fidelity::Quick);
    if (!outcome) throw std::runtime_error(outcome.error().message());
    return *std::move(outcome);
  }

  system::TempFolder folder_ = *system::TempFolder::create();
  std::unique_ptr<Judge> judge_;
};

TEST_F(everyday_FullShapes, TheSeedPasses) {
  const auto outcome = judged(judge_->workload().program);
  const auto* scored = std::get_if<candidate::Scored>(&outcome);
  ASSERT_NE(scored, nullptr) << candidate::explanation(outcome);
  EXPECT_EQ(scored->checked_shapes, 2);  // one check shape, one full
}

TEST_F(everyday_FullShapes, OneWrongElementOfAHundredThousandIsFound) {
  // Only at the full shape, only one element in each rank's rows, and not far off.
  const std::string program = replaced(
      judge_->workload().program, "__floats2bfloat162_rn(sum[i][j][2 * half],",
      "__floats2bfloat162_rn(sum[i][j][2 * half] * (m == 96 && row == 61 && lane % 4 == 2 && "
      "warp_col + 8 * j == 96 && col0 == 0 ? 1.25f : 1.0f),");
  const auto outcome = judged(program);
  const auto* wrong = std::get_if<candidate::WrongResult>(&outcome);
  ASSERT_NE(wrong, nullptr) << candidate::explanation(outcome);
  // All four by the reference; or one, if the oracle's secret sample happens on it first.
  EXPECT_TRUE(wrong->wrong == 4 || wrong->wrong == 1) << wrong->wrong;
  EXPECT_EQ(wrong->index % (96 * 256), 61 * 256 + 100);
  EXPECT_EQ(wrong->total, 4 * 96 * 256);
}

}  // namespace
}  // namespace cuco::judge
