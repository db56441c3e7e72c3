// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/live/in_flight.h"
#include "cli/live/live_judgement.h"
#include "cli/live/live_run.h"
#include "cli/live/row_pictures.h"
#include "cli/live/search_rows.h"
#include "cli/live/search_view.h"

namespace cuco::cli {
namespace {
using candidate::Fidelity;
using candidate::Scored;
using testing::HasSubstr;

design::Directive fused() {
  return {design::Backend::Lsa,
          design::Placement::ProducerFused,
          design::SyncScope::PerChunkFlag,
          {design::IssuerUnit::Warp, 0},
          {design::ChunkKind::Bytes, 65536}};
}

/// A search in its middle: two islands, refused candidates, and a best one.
class LiveView : public testing::Test {
 protected:
  LiveView() {
    view.name = "gemm_allgather";
    view.machine = "4 x NVIDIA H200, nvlink4";
    view.run = "0003";
    view.candidates = 40;
    view.elapsed = 250;
    view.judged_here = 6;
    apply(candidate::RunStarted{});
    propose(0, "", {});
    judge(0, Fidelity::Standard, time(4.98e-4, 0));
    propose(1, "1", fused());
    judge(1, Fidelity::Quick, time(4e-4));
    propose(2, "2", {});
    judge(2, Fidelity::Quick, candidate::Deadlock{.shape = "small"});
    propose(3, "1", fused());
    judge(3, Fidelity::Quick, time(3.18e-4));
    apply(candidate::BestChanged{3, 3.18e-4});
    propose(4, "2", fused());
    judge(4, Fidelity::Quick, time(6e-4));
    propose(5, "2", fused());
    judge(5, Fidelity::Quick,
          candidate::WrongResult{.shape = "sm\033[2Jall", .output = "C", .wrong = 3, .total = 64});
    propose(6, "1", fused());
    judge(6, Fidelity::Scaled, time(3.5e-4));
  }

  static Scored time(double seconds, double baseline = 4.98e-4) {
    return {.seconds = seconds, .baseline_seconds = baseline, .bound_seconds = 2.12e-4};
  }
  void apply(candidate::EventBody body) { view.apply({++sequence, 1000, std::move(body)}); }
  void propose(int number, std::string island, const design::Directive& directive) {
    candidate::Candidate made{.number = number,
                              .source = program::single_file("program.cu", "int x;"),
                              .directive = directive};
    made.lineage = {.proposer = "expert", .island = std::move(island), .phase = "explore"};
    apply(candidate::Proposed{made, std::nullopt, number});
  }
  void judge(int number, Fidelity fidelity, candidate::Outcome outcome) {
    apply(candidate::Evaluated{number, {.fidelity = fidelity}, std::move(outcome), 1});
  }
  void run_two() {
    view.running = {{.number = 7,
                     .work = Work::Judging,
                     .fidelity = Fidelity::Final,
                     .elapsed = 72,
                     .done = 31,
                     .all = 64,
                     .left = 75},
                    {.number = 8, .work = Work::Building, .elapsed = 12}};
  }

  [[nodiscard]] std::string drawn(int columns, int rows) const {
    std::string text;
    for (const Row& row : search_rows(view, {columns, rows})) {
      EXPECT_LT(row.width(), columns) << row.text();
      text += row.text() + "\n";
    }
    return text;
  }

  SearchView view;
  std::int64_t sequence = 0;
};

/// The golden file, or what it shall be with CUCO_UPDATE_GOLDEN=1.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(CUCO_SOURCE_DIR) + "/tests/golden/live/" + name;
  if (const char* update = std::getenv("CUCO_UPDATE_GOLDEN"); update != nullptr && *update == '1')
    std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TEST_F(LiveView, ShowsASearchOnTerminalsOfSeveralSizes) {
  run_two();
  expect_golden("100x30.txt", drawn(100, 30));
  expect_golden("80x24.txt", drawn(80, 24));
  expect_golden("80x12.txt", drawn(80, 12));
  expect_golden("40x24.txt", drawn(40, 24));
  expect_golden("40x4.txt", drawn(40, 4));
}

TEST_F(LiveView, RanksFullShapesBeforeSmallOnesAndAlignsLongNames) {
  propose(7, "multimem", fused());
  judge(7, Fidelity::Quick, time(1e-4));
  const auto islands = view.islands();
  ASSERT_EQ(islands.size(), 3U);
  EXPECT_EQ(islands[0].number, 6);  // 1.42x on full shapes, not 1.57x on small ones
  EXPECT_THAT(drawn(100, 30), HasSubstr(" islands  1         1.42x  #6 "));
  EXPECT_THAT(drawn(100, 30), HasSubstr("          multimem  4.98x  #7 "));
}

TEST_F(LiveView, PromisesNoEndWhereNobodyKnowsIt) {
  run_two();
  EXPECT_THAT(drawn(100, 30), HasSubstr("the others in about"));
  view.candidates = 7;
  EXPECT_THAT(drawn(100, 30), HasSubstr("7/7 candidates · closer looks at the best"));
  view.seconds = 300;
  EXPECT_THAT(drawn(100, 30), HasSubstr("4 m 10 s of 5 m 00 s · about 50 s left"));
}

TEST_F(LiveView, FitsIntoEveryTerminal) {
  run_two();
  view.stopping = true;
  for (int columns = 1; columns < 140; columns += 3) {
    for (int rows = 1; rows < 40; ++rows) {
      const auto all = search_rows(view, {columns, rows});
      EXPECT_LE(static_cast<int>(all.size()), std::max(rows - 1, 1)) << columns << "x" << rows;
      for (const Row& row : all)
        EXPECT_LE(row.width(), std::max(columns - 1, 1)) << columns << ": " << row.text();
    }
  }
}

TEST_F(LiveView, SaysThatItStops) {
  EXPECT_THAT(drawn(80, 24), testing::Not(HasSubstr("Ctrl-C")));
  view.stopping = true;
  EXPECT_THAT(drawn(80, 24), HasSubstr("Ctrl-C again stops now"));
}

TEST_F(LiveView, ShowsNothingThatATerminalObeysNorWrapsAt) {
  judge(6, Fidelity::Final, candidate::Crashed{.reason = "\033[31mred line\u202E \u4E2D \a"});
  EXPECT_THAT(drawn(120, 30), HasSubstr("\\u001b[31mred line\\u202e ? \\u0007"));
  EXPECT_THAT(drawn(120, 30), testing::Not(HasSubstr("\033")));
}

TEST_F(LiveView, CountsWhatQuestionsCostAndWhichAreOpen) {
  apply(candidate::Reserved{7, "q", 900, 0.5});
  view.now_ms = 31'000;
  EXPECT_THAT(drawn(100, 30), HasSubstr("?7   waiting for an answer  30 s"));
  EXPECT_THAT(drawn(120, 30), HasSubstr("1 question · 0.9k tokens · $0.50"));
  apply(candidate::Exchanged{
      7, {.question = "q", .prompt_tokens = 100, .answer_tokens = 200, .dollars = 0.25}});
  EXPECT_THAT(drawn(100, 30), testing::Not(HasSubstr("waiting")));
  EXPECT_EQ(view.tokens, 300);
  // One that fails is not open for ever.
  apply(candidate::Reserved{8, "r", 900, 0.5});
  apply(candidate::SetAside{.decision = 8, .reason = "no answer"});
  EXPECT_TRUE(view.questions.empty());
}

TEST_F(LiveView, CountsRoundsWhereThatIsTheBudget) {
  view.candidates = 0;
  view.rounds = 5;
  apply(candidate::StepDone{"tune: round 1", true, ""});
  EXPECT_THAT(drawn(80, 24), HasSubstr("round 2 of 5"));
}

TEST_F(LiveView, SaysWhatIsDoneBesideTheCandidates) {
  view.step = "reading the program";
  view.step_elapsed = 31;
  EXPECT_THAT(drawn(80, 24), HasSubstr("running  reading the program  31 s"));
}

TEST_F(LiveView, IgnoresEventsOfUnknownCandidates) {
  judge(99, Fidelity::Quick, time(1e-6));
  apply(candidate::BestChanged{99, 1e-6});
  EXPECT_EQ(view.best, 3);
}

TEST(LiveViewAtTheStart, HasSomethingToSay) {
  SearchView view;
  view.name = "x";
  EXPECT_THAT(search_rows(view, {80, 24})[1].text(), HasSubstr("the seed is being judged"));
}

TEST(LiveRun, RemembersWhatAnEarlierProcessDid) {
  ManualClock clock;
  const InFlight table(clock);
  Terminal terminal(stdout, stderr, {});
  LiveRun live(terminal, {}, table, clock, [] { return true; });
  const std::vector<candidate::Event> events{
      {1, 0, candidate::Proposed{{.number = 0}, std::nullopt, 0}},
      {2, 0, candidate::Proposed{{.number = 1}, candidate::ProposalRejected{"no", ""}, 1}},
      {3, 0, candidate::Reserved{2, "cut off", 10, 0}}};
  live.recall(events);
  clock.sleep(std::chrono::seconds(3));
  const SearchView view = live.view();
  EXPECT_EQ(view.judged(), 1);
  EXPECT_EQ(view.judged_here, 0);
  EXPECT_TRUE(view.questions.empty());
  EXPECT_EQ(view.elapsed, 3);
  EXPECT_TRUE(view.stopping);
}

TEST(InFlight, KnowsHowFarAJudgementIsAndHowLongItTakes) {
  ManualClock clock;
  InFlight table(clock);
  const std::string program = "int x;";
  {
    const InFlight::Stay stay(table, {.number = 4}, program);
    clock.sleep(std::chrono::seconds(5));
    table.advance({program, 0, 10});
    clock.sleep(std::chrono::seconds(8));
    table.advance({program, 4, 10});
    table.advance({program, 3, 10});  // overtaken
    table.advance({"other", 9, 10});  // of nobody
    const auto jobs = table.jobs();
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].elapsed, 13);
    EXPECT_EQ(jobs[0].done, 4U);
    EXPECT_EQ(jobs[0].left, 12);
  }
  EXPECT_TRUE(table.jobs().empty());
}

TEST(InFlight, ExpectsABuildToTakeAsLongAsOthers) {
  ManualClock clock;
  InFlight table(clock);
  const RunningJob build{.number = 1, .work = Work::Building};
  for (const int seconds : {10, 30, 20}) {
    const InFlight::Stay stay(table, build, "");
    EXPECT_EQ(table.jobs().front().left.has_value(), seconds != 10);
    clock.sleep(std::chrono::seconds(seconds));
  }
  const InFlight::Stay stay(table, build, "");
  clock.sleep(std::chrono::seconds(5));
  EXPECT_EQ(table.jobs().front().left, 15);
  clock.sleep(std::chrono::seconds(60));
  EXPECT_EQ(table.jobs().front().left, std::nullopt);
}

TEST(Judgement, FitsOnOneRow) {
  JudgementView view{.candidate = "solution.cu", .workload = "gemm", .fidelity = "final"};
  view.job = {.elapsed = 7};
  EXPECT_EQ(judgement_rows(view, {100, 24})[0].text(),
            "judging solution.cu · gemm · final  building  7 s");
  view.job = {.elapsed = 72, .done = 16, .all = 64, .left = 75};
  EXPECT_EQ(judgement_rows(view, {100, 24})[0].text(),
            "judging solution.cu · gemm · final  ████░░░░░░░░░░░░ 16/64  1 m 12 s, about 1 m 15 s "
            "left");
  EXPECT_EQ(judgement_rows(view, {40, 24})[0].width(), 39);
}

/// What was drawn on a terminal so far.
std::string drawn(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::max(std::ftell(file), 0L)), '\0');
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> copy(
      std::fopen(fmt::format("/proc/self/fd/{}", ::fileno(file)).c_str(), "r"), &std::fclose);
  text.resize(std::fread(text.data(), 1, text.size(), copy.get()));
  return text;
}

TEST(Judgement, IsOnTheTerminalForAsLongAsItLasts) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  Terminal terminal(file.get(), file.get(), {.live = true, .width = 100});
  ManualClock clock;
  InFlight table(clock);
  const auto wait_for = [&](std::string_view wanted) {
    for (int i = 0; i < 400 && drawn(file.get()).find(wanted) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return drawn(file.get());
  };
  {
    const std::string program = "int x;";
    const LiveJudgement live(terminal, table, program, {"mine.cu", "gemm", "final"});
    ASSERT_EQ(table.jobs().size(), 1U);
    EXPECT_THAT(wait_for("building"), HasSubstr("judging mine.cu · gemm · final  building"));
    table.advance({program, 3, 8});
    EXPECT_THAT(wait_for("3/8"), HasSubstr(" 3/8"));
    table.advance({std::string("another program"), 7, 8});
    EXPECT_EQ(table.jobs().front().done, 3U);
  }
  EXPECT_TRUE(table.jobs().empty());
  EXPECT_THAT(drawn(file.get()), HasSubstr("\033[?25h")) << "the cursor is given back";
}

TEST(Pictures, ShowTheBestOfEachGroupWhereThereIsLittleRoom) {
  const std::vector<double> speedups = {0.5, 0, 1, 2, 0, 0};
  EXPECT_EQ(sparkline(speedups, 6).text(), "▁×▃█××");
  EXPECT_EQ(sparkline(speedups, 3).text(), "▁█×");
  EXPECT_EQ(sparkline({}, 3).text(), "");
  EXPECT_EQ(way(10, 6, 2, 4).text(), "━━──");
  EXPECT_EQ(way(10, 11, 2, 4).text(), "────");
  EXPECT_EQ(way(10, 5, 2, 4).text(), "━━╸─");
  EXPECT_EQ(bar(0.5, 3).text(), "█▌░");
  EXPECT_EQ(bar(7, 3).text(), "███");
}

}  // namespace
}  // namespace cuco::cli
