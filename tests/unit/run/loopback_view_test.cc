// SPDX-License-Identifier: Apache-2.0
#include "run/loopback_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "run/real_program.h"

namespace cuco::run {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const targets::LoopbackRun& run, const targets::LoopbackOptions& options) {
  return join(describe(run, options), "\n");
}

TEST(JudgeDelay, ATimeThatGrowsWithTheDelayWaits) {
  EXPECT_EQ(judge_delay(0.040, 0.041, 0.229, 0.1, true), DelayVerdict::Waits);
}

TEST(JudgeDelay, ATimeThatStaysShowsThatNobodyWaits) {
  EXPECT_EQ(judge_delay(0.008, 0.009, 0.008, 0.1, true), DelayVerdict::NobodyWaits);
}

TEST(JudgeDelay, WithoutDeliveriesThereIsNothingToSay) {
  EXPECT_EQ(judge_delay(0.008, 0.008, 0.008, 0.1, false), DelayVerdict::NothingCame);
}

TEST(JudgeDelay, TimesThatVaryByThemselvesProveNothing) {
  EXPECT_EQ(judge_delay(0.1, 0.2, 0.1, 0.1, true), DelayVerdict::Inconclusive);
  EXPECT_EQ(judge_delay(0.1, 0.2, 0.35, 0.1, true), DelayVerdict::Inconclusive);
}

TEST(Describe, TellsBytesAndTheErrorOfThePacing) {
  targets::LoopbackRun run;
  run.report.ranks = {{.rank = 0, .puts = 3, .put_bytes = 3072, .collective_bytes = 2048}};
  run.report.ranks.front().pacing = {
      .transfers = 3, .mean = 0.012, .worst = 0.034, .mean_off_us = 7};
  targets::LoopbackOptions options;
  EXPECT_THAT(text_of(run, options), HasSubstr("unpaced"));
  options.network = fabric::single_node(1);
  options.network->name = "roce2x4";
  const std::string text = text_of(run, options);
  EXPECT_THAT(text, HasSubstr("3 KiB in 3 puts, 2 KiB by collectives"));
  EXPECT_THAT(text, HasSubstr("paced as roce2x4: 3 transfers took 1.2 % (7.0 us) more or less"));
  EXPECT_THAT(text, HasSubstr("at worst 3.4 %"));
  EXPECT_THAT(text, Not(HasSubstr("must not be compared")));
  EXPECT_THAT(text, Not(HasSubstr("this GPU's")));
  run.report.ranks.front().pacing->mean = 3;
  EXPECT_THAT(text_of(run, options), HasSubstr("their times are this GPU's"));
}

TEST(Describe, LoadsAndStoresAreSaidToEvadeTheNetwork) {
  targets::LoopbackRun run;
  run.report.ranks = {{.rank = 0, .uses_lsa = true}};
  targets::LoopbackOptions options{.network = fabric::single_node(1)};
  EXPECT_THAT(text_of(run, options), HasSubstr("must not be compared"));
}

TEST(Describe, AProgramWithoutReportIsNotSaidToHaveSentNothing) {
  EXPECT_THAT(text_of({}, {}), HasSubstr("made no communicator"));
}

TEST(CodeWith, WhatTheLibraryFoundIsNoSuccessAndNoCodeOfTheProgram) {
  targets::LoopbackReport report;
  EXPECT_EQ(code_with(report, cli::passed_on(7)), cli::passed_on(7));
  report.findings = {"rank 1 waits for signal 3"};
  EXPECT_EQ(code_with(report, cli::ExitCode::Done), cli::ExitCode::Findings);
  EXPECT_EQ(code_with(report, cli::passed_on(86)), cli::ExitCode::Findings);
  EXPECT_EQ(code_with(report, cli::ExitCode::Environment), cli::ExitCode::Environment);
}

TEST(MultimemUse, FindsWhatAsksForItButNotWhatSwitchesItOff) {
  EXPECT_EQ(multimem_use("reqs.lsaMultimem = true;"), "lsaMultimem");
  EXPECT_EQ(multimem_use("reqs.lsaMultimem = wanted;"), "lsaMultimem");
  EXPECT_EQ(multimem_use("x = ncclGetLsaMultimemPointer(w, 0, c);"), "ncclGetLsaMultimemPointer");
  EXPECT_EQ(multimem_use("asm(\"multimem.red.add.f32 [%0], %1;\");"), "multimem instructions");
  EXPECT_EQ(multimem_use("reqs.lsaMultimem = false; // lsaMultimem = true"), "");
  EXPECT_EQ(multimem_use("if (reqs.lsaMultimem == x) {}"), "");
}

}  // namespace
}  // namespace cuco::run
