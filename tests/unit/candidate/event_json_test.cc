// SPDX-License-Identifier: Apache-2.0
#include "candidate/event_json.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace cuco::candidate {
namespace {

std::vector<Outcome> every_outcome() {
  const Site site{"program.cu", 88, "gemm", 2, "(0,1,0)", "(3,0,0)"};
  return {
      ProposalRejected{"no directive", "hello"},
      ScreenRejected{"frozen", "line 3 changed", site},
      BuildFailed{"program.cu(3): error: expected a ';'\n1 error"},
      Crashed{"illegal address", "64x64", site},
      TimedOut{"run", 20},
      Deadlock{"64x64", {"rank 0 waits for flag 3"}},
      WrongResult{.shape = "64x64",
                  .output = "C",
                  .rank = 2,
                  .index = 17,
                  .expected = 0.25,
                  .actual = 1.5,
                  .wrong = 3,
                  .total = 64},
      Findings{{{"unordered read", "read while in flight", site, Site{"program.cu", 61}, "wait"}},
               "seed 12"},
      Quarantined{1e-6, 2e-6, "64x64"},
      Scored{.seconds = 3e-4,
             .baseline_seconds = 5e-4,
             .hardware = "4 x H200",
             .shapes = {{.shape = "1k",
                         .seconds = 3e-4,
                         .baseline_seconds = 5e-4,
                         .bound_seconds = 2e-4,
                         .limited_by = "links",
                         .limits = {{"links", 2e-4}},
                         .phases = {{"compute", 2e-4}}}},
             .checked_shapes = 3}};
}

TEST(EventJson, OutcomesSurviveARoundTrip) {
  for (const auto& outcome : every_outcome()) {
    const auto parsed = parse_outcome(to_json(outcome));
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(*parsed, outcome) << to_json(outcome);
  }
}

TEST(EventJson, KeepsNotANumber) {
  WrongResult wrong;
  wrong.actual = std::numeric_limits<double>::quiet_NaN();
  wrong.expected = -std::numeric_limits<double>::infinity();
  const auto parsed = parse_outcome(to_json(Outcome(wrong)));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(std::isnan(std::get<WrongResult>(*parsed).actual));
  EXPECT_TRUE(std::isinf(std::get<WrongResult>(*parsed).expected));
}

TEST(EventJson, EventsSurviveARoundTrip) {
  Candidate candidate{.number = 3, .source = program::single_file("program.cu", "int x;\n")};
  candidate.directive = {design::Backend::Lsa, design::Placement::StreamSplit, {}, {}, {}};
  candidate.lineage = {"expert", "LSA", "explore", 0, {1, 2}, "because"};
  candidate.lineage.operation = "repair";
  candidate.lineage.plan = 2;
  const Plan plan{1, 0, candidate.directive, "rows are final early", 1.2, {"LSA reaches all"}};
  const std::vector<EventBody> bodies = {
      RunStarted{"workloads/x",
                 7,
                 "virtual cluster",
                 "4 x H200",
                 "{}",
                 4,
                 {"w", "h", "t", "13.0", "2.28.9", "0.1.0"}},
      StepDone{"analyse", true, "1 kernel"},
      Proposed{candidate, std::nullopt, 5},
      Declined{4, "expert", "no more ideas"},
      Reserved{5, "abc", 16384},
      Proposed{candidate, ProposalRejected{"no", "why"}},
      Exchanged{5,
                {"abc", "command", "x", "propose", "prompt", "answer \"quoted\"\n", 1, 2, 3, 4, 5,
                 0.25, "x:y", 0.5}},
      Evaluated{3, {TargetKind::Gpu, Fidelity::Standard}, every_outcome().back(), 1.5},
      Evaluated{4, {}, every_outcome().back(), 0, MachineCode{"d", "h"}, 3},
      SetAside{6, std::nullopt, "model:x", {}, 3, "no network"},
      SetAside{7, 4, "", {TargetKind::Loopback, Fidelity::Final}, 3, "disk full"},
      Compared{3, 1, {TargetKind::Gpu, Fidelity::Quick}, {true, {1.02, 1.08}, {1.05, 1.04}}},
      Planned{plan},
      Noted{{"LSA: #3 reaches 1.40x", "GIN: 3 of 4 failed"}},
      BestChanged{3, 1e-3},
      RunFinished{"budget"},
      RunFinished{"time budget used up", false}};
  for (const auto& body : bodies) {
    const auto parsed = parse_event(kind(body), to_json(body));
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(*parsed, body) << to_json(body);
  }
}

TEST(EventJson, KeepsTextsApartForStores) {
  const Candidate candidate{.source = program::single_file("program.cu", "int x;\n")};
  const EventBody body = Proposed{candidate, std::nullopt, 0};
  const auto stored = to_stored(body);
  ASSERT_EQ(stored.texts.size(), 1U);
  EXPECT_EQ(stored.texts[0].second, "int x;\n");
  EXPECT_EQ(stored.json.find("int x"), std::string::npos);
  const auto parsed = parse_event("proposed", stored.json, [&](const std::string& hash) {
    EXPECT_EQ(hash, stored.texts[0].first);
    return Result<std::string>(std::string(stored.texts[0].second));
  });
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, body);
  EXPECT_FALSE(parse_event("proposed", stored.json, [](const std::string&) {
    return Result<std::string>(Error{ErrorKind::NotFound, "gone"});
  }));
}

TEST(EventJson, ReadsEventsOfVersionOne) {
  const auto evaluated = parse_event(
      "evaluated",
      R"({"candidate":2,"fidelity":"final","outcome":{"verdict":"dead-lock","waits":["a"]}})");
  ASSERT_TRUE(evaluated) << evaluated.error().message();
  EXPECT_EQ(std::get<Evaluated>(*evaluated).rung, (Rung{TargetKind::Virtual, Fidelity::Final}));
  EXPECT_EQ(verdict(std::get<Evaluated>(*evaluated).outcome), "deadlock");
  const auto exchanged = parse_event("exchanged", R"({"candidate":3,"exchange":{"answer":"x"}})");
  ASSERT_TRUE(exchanged);
  EXPECT_EQ(std::get<Exchanged>(*exchanged).decision, 3);
}

TEST(EventJson, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse_event("dance", "{}"));
  EXPECT_FALSE(parse_event("best", "{"));
  EXPECT_FALSE(parse_outcome(R"({"verdict":"wonderful"})"));
}

TEST(EventJson, IgnoresUnknownFieldsAndFillsMissingOnes) {
  const auto parsed = parse_event("best", R"({"candidate":4,"colour":"red"})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<BestChanged>(*parsed).candidate, 4);
}

TEST(Outcome, SummaryIsOneLineAndNamesTheReason) {
  for (const auto& outcome : every_outcome()) {
    EXPECT_EQ(summary(outcome).find('\n'), std::string::npos) << summary(outcome);
    EXPECT_FALSE(explanation(outcome).empty());
  }
  EXPECT_EQ(summary(every_outcome()[6]),
            "wrong result: C[17] on rank 2 is 1.5, expected 0.25 (shape 64x64)");
  EXPECT_NE(summary(every_outcome().back()).find("predicted (4 x H200)"), std::string::npos);
}

}  // namespace
}  // namespace cuco::candidate
