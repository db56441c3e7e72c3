// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/trial_profile.h"

#include <gtest/gtest.h>

#include "judge/trial/disturbance.h"

namespace cuco::judge {
namespace {

// Rank 1 from 100 us to 110 us: a kernel of 6 us, beside it and after it a collective, 1 us in
// which nothing runs. Half of the warps' time in the kernel is polling.
constexpr const char* kReport = R"({"gpu": "h200",
  "kernels": [{"name": "_ZN43_GLOBAL__N__7f344d90_10_program_cu_5e13d1c44gemmIfEEvPT_",
    "warp_instructions": 100,
    "lines": [{"file": "/tmp/cuco-build.x/program.cu", "line": 12, "warps": 90, "poll_wait_ps": 0},
              {"file": "/tmp/cuco-build.x/program.cu", "line": 40, "warps": 10,
               "poll_wait_ps": 50000000, "sectors": 80, "ideal_sectors": 20}]}],
  "phases": [{"kernel": "_ZN43_GLOBAL__N__7f344d90_10_program_cu_5e13d1c44gemmIfEEvPT_", "device": 1, "started_ps": 101000000, "finished_ps": 107000000,
              "warp_time_ps": 100000000, "poll_wait_ps": 50000000},
             {"kernel": "_ZN43_GLOBAL__N__7f344d90_10_program_cu_5e13d1c44gemmIfEEvPT_", "device": 0,
              "started_ps": 101000000, "finished_ps": 104000000}],
  "works": [{"what": "kernel gemm", "device": 1, "started_ps": 100000000, "finished_ps": 107000000},
            {"what": "ncclAllGather of rank 1", "device": 1, "started_ps": 106000000,
             "finished_ps": 110000000},
            {"what": "copy", "device": 0, "started_ps": 100000000, "finished_ps": 110000000}]})";

TEST(Profile, PhasesAddUpToTheIteration) {
  const auto profile = read_profile(kReport, {1, 100'000'000, 110'000'000});
  ASSERT_TRUE(profile) << profile.error().message();
  ASSERT_EQ(profile->phases.size(), 4U);
  double sum = 0;
  for (const auto& phase : profile->phases)
    sum += phase.seconds;
  EXPECT_NEAR(sum, 10e-6, 1e-12);
  EXPECT_EQ(profile->phases[0].phase, "instructions");
  EXPECT_NEAR(profile->phases[0].seconds, 3e-6, 1e-12);
  EXPECT_EQ(profile->phases[1].phase, "polling for signals");
  EXPECT_NEAR(profile->phases[1].seconds, 3e-6, 1e-12);
  EXPECT_EQ(profile->phases[2].phase, "collectives and copies, not hidden");
  EXPECT_NEAR(profile->phases[2].seconds, 3e-6, 1e-12);
  EXPECT_EQ(profile->phases[3].phase, "launches and host");
  EXPECT_NEAR(profile->phases[3].seconds, 1e-6, 1e-12);
}

TEST(Profile, TheHottestLineComesFirst) {
  const auto profile = read_profile(kReport, {1, 100'000'000, 110'000'000});
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->hot_spots.size(), 2U);
  EXPECT_EQ(profile->hot_spots[0].where.line, 40);
  EXPECT_EQ(profile->hot_spots[0].where.file, "program.cu");
  EXPECT_EQ(profile->hot_spots[0].where.kernel, "gemm<float>") << "not nvcc's name, which changes";
  EXPECT_NEAR(profile->hot_spots[0].share, 0.55, 1e-9);
  EXPECT_EQ(profile->hot_spots[0].what,
            "polls for a signal, moves 4.0x the sectors it needs; this kernel runs for 6.00 us");
  EXPECT_EQ(profile->hot_spots[1].what, "computes");
  EXPECT_TRUE(read_profile("{}", {})) << "not profiled is no error";
  EXPECT_FALSE(read_profile("{", {}));
}

TEST(Profile, NamesALineOfEveryKernelThatTakesLongHoweverCoolItIs) {
  const auto profile = read_profile(R"({"kernels": [
      {"name": "wide", "warp_instructions": 1000,
       "lines": [{"file": "p.cu", "line": 1, "warps": 990}, {"file": "p.cu", "line": 2, "warps": 10}]},
      {"name": "narrow", "warp_instructions": 4,
       "lines": [{"file": "p.cu", "line": 7, "warps": 3}, {"file": "p.cu", "line": 8, "warps": 1}]},
      {"name": "short", "warp_instructions": 4, "lines": [{"file": "p.cu", "line": 9, "warps": 4}]}],
    "phases": [{"kernel": "wide", "device": 0, "started_ps": 0, "finished_ps": 5000000,
                "warp_time_ps": 1000000000},
               {"kernel": "narrow", "device": 0, "started_ps": 5000000, "finished_ps": 9900000},
               {"kernel": "short", "device": 0, "started_ps": 9900000, "finished_ps": 10000000}]})",
                                    {0, 0, 10'000'000});
  ASSERT_TRUE(profile) << profile.error().message();
  ASSERT_EQ(profile->hot_spots.size(), 2U);
  EXPECT_EQ(profile->hot_spots[0].what, "computes; this kernel runs for 5.00 us");
  EXPECT_EQ(profile->hot_spots[1].where.line, 7);
  EXPECT_EQ(profile->hot_spots[1].what, "computes; this kernel runs for 4.90 us");
}

TEST(Disturbance, EveryRankHasItsTurnAndTheProbeWantsAWait) {
  EXPECT_EQ(hold_back(1, 4, 6).handicap.rank, 3);
  EXPECT_EQ(hold_back(2, 4, 6).handicap.rank, 0);
  EXPECT_GT(hold_back(1, 4, 6).handicap.ps, 0);
  EXPECT_GT(hold_back(2, 4, 6).handicap.slowdown, 1);
  const double late = static_cast<double>(delay_deliveries().handicap.delivery_delay_ps) * 1e-12;
  EXPECT_TRUE(judge_probe(8, 1e-5, 1e-5));
  EXPECT_FALSE(judge_probe(8, 1e-5, 1e-5 + late));
  EXPECT_FALSE(judge_probe(0, 1e-5, 1e-5)) << "who sends nothing need not wait";
}

}  // namespace
}  // namespace cuco::judge
