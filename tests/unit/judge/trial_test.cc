// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fakes/fake_bench.h"
#include "small_workload.h"

namespace cuco::judge {
namespace {

using candidate::Outcome;
using fakes::Act;
using fakes::FakeRun;
using testing::HasSubstr;

class TrialTest : public testing::Test {
 protected:
  TrialSpec spec(int ranks = 1) {
    workload_ = small_workload(ranks);
    TrialSpec spec{.workload = workload_,
                   .shape = workload_.shapes.front(),
                   .secret = secret_,
                   .candidate = "candidate"};
    spec.machine.ranks = ranks;
    return spec;
  }

  TrialResult run(const TrialSpec& spec, fakes::Script script, bool measured = false) {
    fakes::FakeBenches benches(std::move(script), measured);
    benches.ranks_end = ranks_end_;
    auto bench = start_bench(benches, spec.machine);
    EXPECT_TRUE(bench);
    auto result = run_trial(spec, *std::move(bench), benches);
    EXPECT_TRUE(result) << result.error().message();
    return *std::move(result);
  }

  template <typename Case>
  Case failed(const TrialSpec& spec, fakes::Script script) {
    const TrialResult result = run(spec, std::move(script));
    const auto* outcome = std::get_if<Outcome>(&result);
    EXPECT_NE(outcome, nullptr) << "it passed";
    if (outcome == nullptr || !std::holds_alternative<Case>(*outcome)) {
      ADD_FAILURE() << (outcome == nullptr ? "" : candidate::summary(*outcome));
      return {};
    }
    return std::get<Case>(*outcome);
  }

  /// Right but for the run of this number.
  static fakes::Script only(int number, Act act) {
    return [=](const FakeRun& run) { return run.number == number ? act : Act{}; };
  }

  workload::Workload workload_;
  workload::Secret secret_ = workload::Secret::from("trial", 1);
  bool ranks_end_ = true;
};

TEST_F(TrialTest, RightInEveryIterationGivesTheSecondsOfEach) {
  const TrialResult result =
      run(spec(), [](const FakeRun& run) { return Act{.seconds = 1e-3 * (run.number + 1)}; });
  const auto& times = std::get<TrialTimes>(result);
  ASSERT_EQ(times.seconds.size(), 3U);
  EXPECT_DOUBLE_EQ(times.seconds[0], 1e-3);
  EXPECT_DOUBLE_EQ(times.seconds[2], 3e-3);
  EXPECT_TRUE(times.samples.empty()) << "nothing was measured";
}

TEST_F(TrialTest, HostTimeBeyondTheFreeIsOnTheClock) {
  const auto seconds = [&](double host, bool measured) {
    const TrialResult result = run(
        spec(), [=](const FakeRun&) { return Act{.seconds = 1e-3, .host_seconds = host}; },
        measured);
    return std::get<TrialTimes>(result).seconds.front();
  };
  EXPECT_DOUBLE_EQ(seconds(0.004, false), 1e-3);
  EXPECT_NEAR(seconds(0.210, false), 0.201, 1e-9);
  EXPECT_DOUBLE_EQ(seconds(0.210, true), 1e-3) << "a real clock has seen it";
}

TEST_F(TrialTest, FewerIterationsStillHaveARankHeldBackAndLateDeliveries) {
  TrialSpec few = spec(4);
  few.hold_back = true;
  few.iterations = 2;
  std::vector<targets::Handicap> handicaps;
  run(few, [&](const FakeRun& run) {
    handicaps.push_back(run.handicap);
    return Act{};
  });
  ASSERT_EQ(handicaps.size(), 3U);
  EXPECT_GT(handicaps[0].ps, 0);
  EXPECT_EQ(handicaps[1].rank, -1);
  EXPECT_GT(handicaps[2].delivery_delay_ps, 0);
}

TEST_F(TrialTest, OneWrongIterationIsWrongAndSaysWhereAndWhy) {
  const auto wrong = failed<candidate::WrongResult>(spec(), only(1, {.kind = Act::Kind::Wrong}));
  EXPECT_EQ(wrong.shape, "check one");
  EXPECT_EQ(wrong.output, "y");
  EXPECT_EQ(wrong.iteration, 1);
  EXPECT_EQ(wrong.note, "never written");
}

TEST_F(TrialTest, DeadlockTimeoutAndCrashAreToldApart) {
  EXPECT_EQ(failed<candidate::Deadlock>(spec(), only(0, {.kind = Act::Kind::Deadlock})).waits,
            std::vector<std::string>{"rank 0 waits for rank 1"});
  const auto late = failed<candidate::TimedOut>(spec(), only(2, {.kind = Act::Kind::OutOfTime}));
  EXPECT_EQ(late.stage, "cuco_run");
  EXPECT_EQ(late.limit_seconds, 60);
  TrialSpec watched = spec();
  watched.machine.check = true;
  EXPECT_GT(
      failed<candidate::TimedOut>(watched, only(2, {.kind = Act::Kind::OutOfTime})).limit_seconds,
      60)
      << "what the checker costs counts against the program";
  const auto never =
      failed<candidate::TimedOut>(spec(), only(2, {.kind = Act::Kind::OutOfVirtualTime}));
  EXPECT_EQ(never.stage, "cuco_run in virtual time");
  EXPECT_EQ(never.limit_seconds, 7200);
  EXPECT_THAT(failed<candidate::Crashed>(spec(), only(1, {.kind = Act::Kind::Crash})).reason,
              HasSubstr("illegal address in kernel gemm at program.cu:3"))
      << "not nvcc's names, which change from build to build";
  EXPECT_THAT(failed<candidate::Crashed>(spec(), only(1, {.kind = Act::Kind::Fails})).reason,
              HasSubstr("cuco_run failed with 7 on rank 0"));
}

TEST_F(TrialTest, TeardownMustEnd) {
  ranks_end_ = false;
  EXPECT_EQ(failed<candidate::TimedOut>(spec(), only(-1, {})).stage, "cuco_teardown");
}

TEST_F(TrialTest, TeardownIsCheckedToo) {
  check::Finding twice;
  twice.kind = check::Kind::UseAfterFree;
  twice.message = "freed twice";
  TrialSpec checked = spec();
  checked.machine.check = true;
  const auto always = [&](const FakeRun&) { return Act{.findings_at_end = {twice}}; };
  EXPECT_EQ(failed<candidate::Findings>(checked, always).findings.front().message, "freed twice");
}

TEST_F(TrialTest, TheHostMayNotCompute) {
  const auto busy = failed<candidate::Findings>(spec(), only(0, {.kind = Act::Kind::HostBusy}));
  EXPECT_EQ(busy.findings.front().kind, "host computation");
  const auto copies = failed<candidate::Findings>(spec(), only(0, {.copied_to_host = 4097}));
  EXPECT_EQ(copies.findings.front().kind, "device-to-host copy");
  EXPECT_TRUE(std::holds_alternative<TrialTimes>(run(spec(), only(0, {.copied_to_host = 4096}))));
}

TEST_F(TrialTest, NothingBeyondTheBuffersMayChange) {
  const auto found = failed<candidate::Findings>(spec(), only(0, {.breaks_guard = true}));
  EXPECT_EQ(found.findings.front().kind, "out of bounds");
  EXPECT_THAT(found.findings.front().message, HasSubstr("after output y"));
}

TEST_F(TrialTest, WhatTheCheckerFindsIsTheOutcomeOfACheckedRunOnly) {
  check::Finding race;
  race.kind = check::Kind::GlobalRace;
  race.message = "two writes";
  TrialSpec checked = spec();
  EXPECT_TRUE(std::holds_alternative<TrialTimes>(run(checked, only(0, {.findings = {race}}))));
  checked.machine.check = true;
  EXPECT_EQ(failed<candidate::Findings>(checked, only(0, {.findings = {race}})).findings.size(),
            1U);
  // It also explains a deadlock.
  const auto stuck = only(0, {.kind = Act::Kind::Deadlock, .findings = {race}});
  EXPECT_EQ(failed<candidate::Findings>(checked, stuck).findings.front().message, "two writes");
}

TEST_F(TrialTest, HoldsRanksBackAndDelaysDeliveriesOnce) {
  TrialSpec held = spec(2);
  held.hold_back = true;
  std::vector<targets::Handicap> seen;
  const TrialResult result = run(held, [&](const FakeRun& run) {
    seen.push_back(run.handicap);
    const double late = static_cast<double>(run.handicap.delivery_delay_ps) * 1e-12;
    return Act{.seconds = 1e-3 + late, .deliveries = 1};
  });
  EXPECT_TRUE(std::holds_alternative<TrialTimes>(result));
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_GT(seen[0].ps, 0);
  EXPECT_GT(seen[1].slowdown, 1);
  EXPECT_NE(seen[0].rank, seen[1].rank);
  EXPECT_EQ(seen[2].rank, -1) << "as a timed one, which is not the first either";
  EXPECT_GT(seen[3].delivery_delay_ps, 0);
  EXPECT_DOUBLE_EQ(std::get<TrialTimes>(result).undisturbed, 1e-3);
}

TEST_F(TrialTest, WhoIsNotSlowedByLateDeliveriesDidNotWait) {
  TrialSpec held = spec(2);
  held.hold_back = true;
  const auto found =
      failed<candidate::Findings>(held, [](const FakeRun&) { return Act{.deliveries = 1}; });
  EXPECT_EQ(found.findings.front().kind, "wait did not wait");
}

TEST_F(TrialTest, SurprisesAreCheckedButNotTimed) {
  TrialSpec timed = spec(2);
  timed.surprises = 2;
  int runs = 0;
  const auto result = run(timed, [&](const FakeRun& run) {
    ++runs;
    return Act{.seconds = run.handicap.rank < 0 && run.handicap.delivery_delay_ps == 0 ? 1e-3 : 9};
  });
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(std::get<TrialTimes>(result).seconds, std::vector<double>(3, 1e-3));
}

TEST_F(TrialTest, OutputsAreComparedWithTheSeeds) {
  TrialSpec seed = spec();
  seed.keep_outputs = true;
  const TrialResult kept = run(seed, only(-1, {}));
  TrialOutputs outputs = std::get<TrialTimes>(kept).outputs;
  ASSERT_EQ(outputs.size(), 3U);
  TrialSpec candidate = spec();
  candidate.like = &outputs;
  EXPECT_TRUE(std::holds_alternative<TrialTimes>(run(candidate, only(-1, {}))));
  for (auto& [where, bytes] : outputs)
    bytes.assign(bytes.size(), '\x40');
  EXPECT_THAT(failed<candidate::WrongResult>(candidate, only(-1, {})).note, HasSubstr("the seed"));
}

TEST_F(TrialTest, ARealGpuGivesSamples) {
  const auto result = run(
      spec(), [](const FakeRun&) { return Act{.seconds = 2e-3, .seen = {.clock_mhz = 1980}}; },
      true);
  const auto& samples = std::get<TrialTimes>(result).samples;
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].clock_mhz, 1980);
  EXPECT_DOUBLE_EQ(samples[0].seconds, 2e-3);
}

}  // namespace
}  // namespace cuco::judge
