// SPDX-License-Identifier: Apache-2.0
#include "targets/real/real_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::targets {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A machine with everything.
RealFacts full_machine() {
  DriverFacts driver{.version = "13.0", .green_contexts = true};
  driver.gpus.push_back({.name = "NVIDIA H200",
                         .memory_bytes = 141ULL << 30U,
                         .compute_major = 9,
                         .compute_minor = 0,
                         .multiprocessors = 132});
  return {.driver = driver,
          .nvcc = true,
          .mpirun = true,
          .mps_control = true,
          .loopback_library = true};
}

TEST(RealNeeds, AMachineWithEverythingLacksNothing) {
  for (const bool uses_mpi : {false, true}) {
    const RealWish wish{.uses_mpi = uses_mpi};
    EXPECT_THAT(missing_for_loopback(full_machine(), wish), IsEmpty());
    EXPECT_THAT(missing_for_cluster(full_machine(), wish), IsEmpty());
    EXPECT_THAT(missing_for_gpus(full_machine(), wish), IsEmpty());
  }
}

TEST(RealNeeds, EachThingThatIsMissingIsNamed) {
  RealFacts facts = full_machine();
  facts.nvcc = false;
  EXPECT_THAT(missing_for_loopback(facts, {}), HasSubstr("nvcc"));
  EXPECT_THAT(missing_for_loopback(facts, {.builds = false}), IsEmpty());
  facts = full_machine();
  facts.loopback_library = false;
  EXPECT_THAT(missing_for_loopback(facts, {}), HasSubstr("libnccl.so.2"));
  EXPECT_THAT(missing_for_gpus(facts, {}), IsEmpty());
  facts = full_machine();
  facts.mpirun = false;
  EXPECT_THAT(missing_for_loopback(facts, {.uses_mpi = true}), HasSubstr("mpirun"));
  facts = full_machine();
  facts.driver->gpus.clear();
  EXPECT_THAT(missing_for_gpus(facts, {}), HasSubstr("no GPU"));
  facts.driver.reset();
  EXPECT_THAT(missing_for_loopback(facts, {}), HasSubstr("no NVIDIA driver"));
}

TEST(RealNeeds, LoopbackNeedsGreenContextsAndProcessesTheServiceToo) {
  RealFacts facts = full_machine();
  facts.driver->green_contexts = false;
  EXPECT_THAT(missing_for_loopback(facts, {}), HasSubstr("green contexts"));
  EXPECT_THAT(missing_for_loopback(facts, {.uses_mpi = true}), HasSubstr("green contexts"));
  facts = full_machine();
  facts.mps_control = false;
  EXPECT_THAT(missing_for_loopback(facts, {}), IsEmpty());
  EXPECT_THAT(missing_for_loopback(facts, {.uses_mpi = true}), IsEmpty());
  EXPECT_THAT(missing_for_loopback(facts, {.uses_mpi = true, .ranks = 2}),
              HasSubstr("Multi-Process Service"));
}

TEST(RealNeeds, AClusterNeedsNoGpuHereIfItsTopologySaysWhichItHas) {
  RealFacts facts = full_machine();
  facts.driver.reset();
  EXPECT_THAT(missing_for_cluster(facts, {}), HasSubstr("--topology"));
  EXPECT_THAT(missing_for_cluster(facts, {.knows_gpu = true}), IsEmpty());
  EXPECT_THAT(missing_for_cluster(facts, {.builds = false}), IsEmpty());
}

}  // namespace
}  // namespace cuco::targets
