// SPDX-License-Identifier: Apache-2.0
#include "hardware/scale_model.h"

#include <gtest/gtest.h>

namespace cuco::hardware {
namespace {

GpuDescription h200() {
  return *load_gpu_description("h200", CUCO_SOURCE_DIR);
}

TEST(ScaleModel, DividesThroughputAndKeepsLatencies) {
  const GpuDescription whole = h200();
  for (const double k : {2.0, 4.0, 8.0, 12.0, 16.0, 37.5, 64.0, 128.0}) {
    const GpuDescription part = divided(whole, {.math = k, .memory = k / 2, .links = k});
    EXPECT_NEAR(part.sms * part.clock_ghz, whole.sms * whole.clock_ghz / k, 1e-9) << k;
    // The rates of one SM's cycle are its own: tensor cores do as much in one as before.
    EXPECT_NEAR(part.tensor_f16_tflops / (part.sms * part.clock_ghz),
                whole.tensor_f16_tflops / (whole.sms * whole.clock_ghz), 1e-9);
    EXPECT_NEAR(part.l2_gbs, whole.l2_gbs / k, 1e-9);
    EXPECT_NEAR(part.l2_write_gbs, whole.l2_write_gbs / k, 1e-9);
    EXPECT_NEAR(part.l2_part_gops, whole.l2_part_gops / k, 1e-9);
    EXPECT_NEAR(part.block_ns, whole.block_ns * k, 1e-9);
    EXPECT_NEAR(part.atomic_clash_ns, whole.atomic_clash_ns * k, 1e-9);
    EXPECT_NEAR(static_cast<double>(part.l2_reach), static_cast<double>(whole.l2_reach) / (k / 2),
                1);
    EXPECT_NEAR(part.hbm_gbs, whole.hbm_gbs / (k / 2), 1e-9);
    EXPECT_NEAR(static_cast<double>(part.l2_bytes), static_cast<double>(whole.l2_bytes) / (k / 2),
                1);
    EXPECT_NEAR(part.hbm_latency / part.clock_ghz, whole.hbm_latency / whole.clock_ghz, 1) << k;
    EXPECT_NEAR(part.l2_latency / part.clock_ghz, whole.l2_latency / whole.clock_ghz, 1) << k;
    EXPECT_EQ(part.launch_us, whole.launch_us);
    EXPECT_EQ(part.nccl.launch_us, whole.nccl.launch_us);
    // A collective's SMs are the same part of the GPU.
    EXPECT_NEAR(part.nccl.sms_of(24) * k, 24, k / 2 + 1e-9);
    EXPECT_EQ(part.shared_per_sm, whole.shared_per_sm);
    EXPECT_EQ(part.blocks_per_sm, whole.blocks_per_sm);
  }
}

TEST(ScaleModel, HasAtLeastOneSm) {
  const GpuDescription whole = h200();
  const GpuDescription part = divided(whole, {.math = 1000});
  EXPECT_EQ(part.sms, 1U);
  EXPECT_NEAR(part.clock_ghz, whole.sms * whole.clock_ghz / 1000, 1e-9);
}

TEST(ScaleModel, OfOneIsTheMachine) {
  const GpuDescription whole = h200();
  const GpuDescription same = divided(whole, {});
  EXPECT_EQ(same.sms, whole.sms);
  EXPECT_EQ(same.clock_ghz, whole.clock_ghz);
  EXPECT_EQ(same.l2_bytes, whole.l2_bytes);
}

TEST(ScaleModel, DivisorsAreReadAsTheyAreWritten) {
  const Divisor divisor{16, 1.0 / 3 * 10, 7.25};
  EXPECT_EQ(*parse_divisor(to_text(divisor)), divisor);
  for (const char* wrong :
       {"", "8", "8,8", "8,8,0.5", "8,8,x", "8,8,8,8", "8,8,inf", "8,,8", "nan,1,1"})
    EXPECT_FALSE(parse_divisor(wrong)) << wrong;
}

}  // namespace
}  // namespace cuco::hardware
