// SPDX-License-Identifier: Apache-2.0
#include "knowledge/knowledge.h"

#include <cmath>

#include <gtest/gtest.h>

namespace cuco::knowledge {
namespace {
using candidate::Outcome;
using candidate::Scored;
using design::Backend;

/// A run whose candidates have these backends and speed-ups; 0: a wrong result.
candidate::RunState run_of(const std::vector<std::pair<Backend, double>>& candidates,
                           std::int64_t started_ms = 1,
                           bool predicted = true) {
  candidate::RunState run;
  run.started = candidate::RunStarted{.workload = "workloads/x"};
  run.started_ms = started_ms;
  run.entries.emplace_back();
  for (const auto& [backend, speedup] : candidates) {
    candidate::Entry entry;
    entry.candidate.number = static_cast<int>(run.entries.size());
    entry.candidate.source = program::single_file("program.cu", "x");
    entry.candidate.directive.backend = backend;
    const Outcome outcome =
        speedup > 0
            ? Outcome(Scored{.seconds = 1 / speedup, .baseline_seconds = 1, .predicted = predicted})
            : Outcome(candidate::WrongResult{});
    entry.outcomes.emplace(candidate::Rung{}, outcome);
    run.entries.push_back(std::move(entry));
  }
  return run;
}

std::string move(Backend backend) {
  return move_of({.backend = backend});
}

TEST(Knowledge, LearnsTriesGainsAndAnExample) {
  Knowledge known;
  EXPECT_TRUE(known.learn("all-gather · 4 ranks",
                          run_of({{Backend::Lsa, 1.5}, {Backend::Lsa, 2.0}, {Backend::Gin, 0}}),
                          "0003"));
  const Lesson* lsa = known.find("all-gather · 4 ranks", move(Backend::Lsa));
  ASSERT_NE(lsa, nullptr);
  EXPECT_EQ(lsa->tries, 2);
  EXPECT_EQ(lsa->correct, 2);
  EXPECT_DOUBLE_EQ(lsa->best, 2.0);
  EXPECT_EQ(lsa->example, "workloads/x 0003 #2");
  EXPECT_NEAR(lsa->expected(), std::exp(std::log(3.0) / 3), 1e-9);
  const Lesson* gin = known.find("all-gather · 4 ranks", move(Backend::Gin));
  ASSERT_NE(gin, nullptr);
  EXPECT_EQ(gin->correct, 0);
  EXPECT_DOUBLE_EQ(gin->expected(), 1.0);
  EXPECT_EQ(known.find("all-reduce · 4 ranks", move(Backend::Lsa)), nullptr);
}

TEST(Knowledge, LearnsARunOnce) {
  Knowledge known;
  const auto run = run_of({{Backend::Lsa, 1.5}});
  EXPECT_TRUE(known.learn("s", run, "0001"));
  EXPECT_FALSE(known.learn("s", run, "0001"));
  EXPECT_EQ(known.find("s", move(Backend::Lsa))->tries, 1);
  EXPECT_TRUE(known.learn("s", run_of({{Backend::Lsa, 1.5}}, 2), "0001"));
  EXPECT_EQ(known.find("s", move(Backend::Lsa))->tries, 2);
}

TEST(Knowledge, BelievesWhatWasMeasured) {
  Knowledge known;
  known.learn("s", run_of({{Backend::Lsa, 3.0}}), "0001");
  known.learn("s", run_of({{Backend::Lsa, 1.1}}, 2, false), "0002");
  const Lesson* lesson = known.find("s", move(Backend::Lsa));
  EXPECT_LT(lesson->expected(), 1.1);
  EXPECT_EQ(lesson->measured.count, 1);
}

TEST(Knowledge, GrowsSurerWithTries) {
  Lesson lesson{.tries = 1, .correct = 1, .predicted = {1, std::log(1.5)}};
  const double first = lesson.confidence();
  lesson = {.tries = 20, .correct = 20, .predicted = {20, 20 * std::log(1.5)}};
  EXPECT_GT(lesson.confidence(), first);
  EXPECT_NEAR(lesson.expected(), 1.5, 0.05);
}

TEST(Knowledge, SurvivesARoundTripAndMergesWithoutCountingTwice) {
  Knowledge a;
  a.learn("s", run_of({{Backend::Lsa, 1.5}, {Backend::Gin, 0}}), "0001");
  const auto parsed = Knowledge::parse(a.to_json());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, a);
  Knowledge b;
  b.learn("s", run_of({{Backend::Lsa, 1.2}}, 2), "0002");
  b.merge(a);
  b.merge(*parsed);
  EXPECT_EQ(b.find("s", move(Backend::Lsa))->tries, 2);
}

TEST(Knowledge, ForgetsSituations) {
  Knowledge known;
  known.learn("all-gather · 4 ranks", run_of({{Backend::Lsa, 1.5}}), "0001");
  known.learn("all-reduce · 8 ranks", run_of({{Backend::Lsa, 1.5}}, 2), "0002");
  EXPECT_EQ(known.forget("4 ranks"), 1U);
  EXPECT_EQ(known.lessons().size(), 1U);
  EXPECT_EQ(Knowledge::parse(known.to_json())->lessons().size(), 1U);
}

TEST(Knowledge, SaysWhatIsWrongWithAFile) {
  EXPECT_TRUE(Knowledge::parse(""));
  EXPECT_FALSE(Knowledge::parse("{"));
  EXPECT_FALSE(Knowledge::parse(R"({"version":1})"));
  EXPECT_FALSE(Knowledge::parse(R"({"version":9,"runs":{}})"));
  EXPECT_FALSE(Knowledge::parse(R"({"version":1,"runs":{"a":[{"move":3}]}})"));
}

TEST(Knowledge, TellsProposersTheBestMovesFirst) {
  Knowledge known;
  known.learn("s", run_of({{Backend::Gin, 1.1}, {Backend::Lsa, 1.9}}), "0001");
  const auto notes = known.notes("s");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("LSA"), std::string::npos);
  EXPECT_NE(notes[0].find("1.90x (predicted)"), std::string::npos);
  EXPECT_TRUE(known.notes("other").empty());
}

}  // namespace
}  // namespace cuco::knowledge
