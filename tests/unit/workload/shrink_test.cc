// SPDX-License-Identifier: Apache-2.0
#include "workload/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::workload {
namespace {

using testing::HasSubstr;

Workload shipped_workload(const std::string& name) {
  return *load_workload(system::Path(CUCO_SOURCE_DIR) / "workloads" / name);
}

const Shape& shape_of(const Workload& workload, std::string_view name) {
  return *std::ranges::find(workload.shapes, name, &Shape::name);
}

TEST(Shrink, DividesRowsAndColumnsAlike) {
  const Workload gemm = shipped_workload("gemm_allgather");
  const Shape& full = shape_of(gemm, "8192^3 bf16");
  const Shape part = *shrink(gemm, full, 16);
  // B is four times as large as A's rows: its columns shrink four times as much.
  EXPECT_EQ(part.params, (std::vector<long long>{1024, 1024, 8192, 1}));
  EXPECT_EQ(part.name, "8192^3 bf16 / 16");
  EXPECT_EQ(part.divisor.math, 16);
  EXPECT_EQ(part.divisor.links, 16);
  // The operands shrink less than the result: the machine's memory follows their sum.
  EXPECT_GT(part.divisor.memory, 4);
  EXPECT_LT(part.divisor.memory, 16);
}

TEST(Shrink, WorkAndMachineShrinkTogether) {
  for (const char* name :
       {"gemm_allgather", "kv_transfer", "flash_attention_cp", "moe_dispatch_combine",
        "silu_and_mul", "fused_add_rmsnorm", "merge_attn_states"}) {
    const Workload workload = shipped_workload(name);
    for (const Shape* full : workload.shapes_for(Use::Full)) {
      const measure::Demand whole = *workload.demand(*full);
      for (const double k : {2.0, 4.0, 8.0, 16.0}) {
        const auto part = shrink(workload, *full, k);
        if (!part) continue;
        const measure::Demand demand = *workload.demand(*part);
        EXPECT_NEAR(demand.flops * part->divisor.math, whole.flops, whole.flops * 1e-9);
        EXPECT_NEAR(demand.hbm_bytes * part->divisor.memory, whole.hbm_bytes,
                    whole.hbm_bytes * 1e-9);
        EXPECT_NEAR(demand.wire_bytes * part->divisor.links, whole.wire_bytes,
                    whole.wire_bytes * 1e-9);
        EXPECT_LT(part->divisor.math, 1.5 * k) << name;
        EXPECT_GT(part->divisor.math, k / 1.5) << name;
        for (std::size_t p = 0; p < full->params.size(); ++p) {
          if (workload.scale[p] == 0) {
            EXPECT_EQ(part->params[p], full->params[p]);
          }
        }
      }
    }
  }
}

TEST(Shrink, SaysHowFarItCan) {
  const Workload attention = shipped_workload("flash_attention_cp");
  const Shape& full = shape_of(attention, "sequence 32768, size 64");
  const auto part = shrink(attention, full, 1e6);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().message(), HasSubstr("[scale] allows 1024 at most"));
  Workload none = attention;
  none.scale.clear();
  EXPECT_THAT(shrink(none, full, 2).error().message(), HasSubstr("no [scale]"));
}

TEST(Shrink, FactorsFollowTheWork) {
  const Workload gemm = shipped_workload("gemm_allgather");
  const double small = *factor_for(gemm, shape_of(gemm, "2048^2 x 4096 bf16"), 4);
  const double large = *factor_for(gemm, shape_of(gemm, "8192^3 bf16"), 4);
  EXPECT_GT(large, small);
  EXPECT_EQ(*factor_for(gemm, shape_of(gemm, "8192^3 bf16"), 1e6), 1);
  EXPECT_LE(*factor_for(gemm, shape_of(gemm, "8192^3 bf16"), 8), large);
}

TEST(Shrink, EveryFullShapeHasAModelHoweverLittleTimeThereIs) {
  for (const char* name :
       {"gemm_allgather", "kv_transfer", "flash_attention_cp", "moe_dispatch_combine",
        "silu_and_mul", "fused_add_rmsnorm", "merge_attn_states"}) {
    const Workload workload = shipped_workload(name);
    for (const Shape* full : workload.shapes_for(Use::Full)) {
      for (const double seconds : {1e-6, 0.1, 3.0}) {
        const auto k = factor_for(workload, *full, seconds);
        ASSERT_TRUE(k) << k.error().message();
        EXPECT_TRUE(shrink(workload, *full, *k)) << full->name << " by " << *k;
      }
    }
  }
}

TEST(Shrink, TheFileSaysWhatIsWrongWithIt) {
  const std::string text = "[scale]\nq = 4\n";
  const auto workload = parse_workload(text, "w.toml");
  ASSERT_FALSE(workload);
  EXPECT_THAT(workload.error().message(), HasSubstr("unknown parameter"));
  EXPECT_THAT(workload.error().message(), HasSubstr("names no parameter that may shrink"));
}

}  // namespace
}  // namespace cuco::workload
