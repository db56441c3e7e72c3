// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shell.h"
#include "store/run_folder.h"
#include "store/sqlite_store.h"
#include "system/os/system_clock.h"

namespace cuco::test {
namespace {

using ::testing::HasSubstr;

candidate::Scored scored(double seconds) {
  return {.seconds = seconds,
          .baseline_seconds = 500e-6,
          .bound_seconds = 200e-6,
          .score = 0.7,
          .predicted = true,
          .hardware = "h200",
          .shapes = {{.shape = "64x64x64", .seconds = seconds, .baseline_seconds = 500e-6}},
          .checked_shapes = 1};
}

candidate::Candidate candidate_of(int number, const std::string& text) {
  return {.number = number,
          .source = program::single_file("program.cu", text),
          .directive = {},
          .lineage = {.proposer = number == 0 ? "seed" : "expert", .because = "it was asked for"},
          .code_hash = fmt::format("hash{}", number)};
}

candidate::Exchange exchange(std::string question, double dollars) {
  candidate::Exchange made{.question = std::move(question), .provider = "house", .model = "m"};
  made.role = "propose";
  made.prompt_tokens = 100;
  made.answer_tokens = 20;
  made.cached_tokens = 60;
  made.reasoning_tokens = 5;
  made.lost_tokens = dollars < 0 ? 7 : 0;
  made.answered_by = dollars < 0 ? "spare:n" : "";
  made.dollars = dollars;
  return made;
}

/// runs/0001 with a seed, a failure and a winner; runs/0002 with the seed alone.
class Runs : public ::testing::Test {
 protected:
  Runs() {
    const auto root = shell_.folder() / "runs";
    add_run(root, true);
    add_run(root, false);
  }

  void add_run(const system::Path& root, bool whole) {
    const system::SystemClock clock;
    const auto folder = store::create_run(root);
    ASSERT_TRUE(folder) << folder.error().message();
    const auto store =
        store::SqliteStore::open(folder->database(), store::OpenMode::ReadWrite, clock);
    ASSERT_TRUE(store) << store.error().message();
    const auto add = [&](candidate::EventBody body) {
      ASSERT_TRUE((*store)->append(std::move(body)));
    };
    add(candidate::RunStarted{.workload = "workloads/gemm_allgather",
                              .seed = 7,
                              .target = "virtual",
                              .hardware = "h200"});
    add(candidate::Proposed{.candidate = candidate_of(0, "// seed\n")});
    if (!whole) return;
    add(candidate::Evaluated{.candidate = 0, .outcome = scored(500e-6)});
    add(candidate::Reserved{.decision = 1, .question = "q1", .tokens = 900});
    add(candidate::Exchanged{1, exchange("q1", 0.25)});
    add(candidate::Proposed{.candidate = candidate_of(1, "// broken\n"), .decision = 1});
    add(candidate::Evaluated{.candidate = 1, .outcome = candidate::BuildFailed{"expected ';'"}});
    add(candidate::Exchanged{3, exchange("q2", -1)});
    add(candidate::Reserved{.decision = 3, .question = "q3", .tokens = 700});
    add(candidate::Proposed{.candidate = candidate_of(2, "// better\n"), .decision = 3});
    add(candidate::Evaluated{.candidate = 2, .outcome = scored(250e-6)});
    add(candidate::BestChanged{.candidate = 2, .seconds = 250e-6});
    add(candidate::RunFinished{.reason = "space exhausted"});
  }

  Shell shell_;
};

TEST_F(Runs, DiffShowsTwoCandidates) {
  const Seen seen = shell_("cuco diff 1 1 2");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out, HasSubstr("-// broken\n+// better"));
  EXPECT_EQ(shell_("cuco diff 1 1 9").exit_code, 2);
}

TEST_F(Runs, DbVerifiesExportsAndVacuums) {
  const Seen whole = shell_("cuco db verify 1");
  EXPECT_EQ(whole.exit_code, 0) << whole.error;
  EXPECT_THAT(whole.out, HasSubstr("run 0001 is whole: 13 events"));
  EXPECT_THAT(shell_("cuco db export 1").out, HasSubstr("\"kind\":\"run-finished\""));
  EXPECT_THAT(shell_("cuco --json db vacuum 1").out, HasSubstr("\"bytes_after\""));
  EXPECT_EQ(shell_("cuco db verify 1").exit_code, 0);
  EXPECT_EQ(shell_("cuco db polish 1").exit_code, 2);
}

TEST_F(Runs, ReplayComparesPoliciesOnRecordedVerdicts) {
  const Seen seen = shell_("cuco replay 1 --candidates 3 --seeds 2");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out, HasSubstr("2 recorded candidates, best 2.000x on h200"));
  for (const char* policy : {"search", "random", "best-of-n"})
    EXPECT_THAT(seen.out, HasSubstr(policy));
  EXPECT_THAT(shell_("cuco replay 1 --policy serch").error, HasSubstr("did you mean 'search'?"));
  EXPECT_THAT(shell_("cuco replay 2").error, HasSubstr("the run's seed has no verdict"));
}

TEST_F(Runs, KnowledgeIsShownMergedAndForgotten) {
  EXPECT_THAT(shell_("cuco knowledge show").out, HasSubstr("nothing has been learnt yet"));
  const auto file = shell_.folder() / "theirs.json";
  ASSERT_TRUE(system::write_file(
      file, R"({"version":1,"runs":{"w 0001 5":[{"situation":"ncclAllGather · 4 ranks",)"
            R"("move":"LSA","tries":2,"correct":2,"predicted":[2,1.0],"measured":[0,0],)"
            R"("best":1.8,"example":"w 0001 #3"}]}})"));
  EXPECT_EQ(shell_("cuco knowledge merge theirs.json").exit_code, 0);
  EXPECT_EQ(shell_("cuco knowledge merge theirs.json").exit_code, 0);
  const Seen seen = shell_("cuco knowledge show");
  EXPECT_THAT(seen.out, HasSubstr("2/2 correct"));
  EXPECT_THAT(seen.out, HasSubstr("predicted"));
  EXPECT_EQ(shell_("cuco knowledge forget nothing").exit_code, 2);
  EXPECT_EQ(shell_("cuco knowledge forget AllGather").exit_code, 0);
  EXPECT_THAT(shell_("cuco knowledge show").out, HasSubstr("nothing has been learnt yet"));
}

TEST_F(Runs, ListNamesWorkloadBestAndState) {
  const Seen seen = shell_("cuco runs");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out,
              HasSubstr("3 candidates  best #2 250 us predicted 2.00x  finished: space exhausted"));
  EXPECT_THAT(seen.out, HasSubstr("seed not judged yet"));
}

TEST_F(Runs, ShowMarksTheBestAndExplainsFailures) {
  const std::string all = shell_("cuco show 1").out;
  EXPECT_THAT(all, HasSubstr("250 us predicted against 500 us: 2.00x  ← best"));
  EXPECT_THAT(all, HasSubstr("error of predicted times: ± "));
  EXPECT_THAT(shell_("cuco show 1 1").out, HasSubstr("expected ';'"));
  EXPECT_THAT(shell_("cuco show 1 2").out, HasSubstr("it was asked for"));
  EXPECT_EQ(shell_("cuco show 1 2 --code").out, "// better\n");
  EXPECT_THAT(shell_("cuco show 1 2 --diff").out, HasSubstr("-// seed\n+// better\n"));
  const auto json = nlohmann::json::parse(shell_("cuco show 1 --json").out);
  EXPECT_EQ(json["best"], 2);
  EXPECT_EQ(json["candidates"][1]["verdict"], "build-failed");
}

TEST_F(Runs, ShowComparesTheSeedOnTheShapesOfTheBest) {
  const system::SystemClock clock;
  const auto folder = store::create_run(shell_.folder() / "runs");
  ASSERT_TRUE(folder);
  const auto store =
      store::SqliteStore::open(folder->database(), store::OpenMode::ReadWrite, clock);
  ASSERT_TRUE(store);
  const auto add = [&](candidate::EventBody body) {
    ASSERT_TRUE((*store)->append(std::move(body)));
  };
  candidate::Scored small = scored(13e-6);
  small.baseline_seconds = 0;
  candidate::Scored large = scored(19e-6);
  large.baseline_seconds = 35e-6;
  add(candidate::RunStarted{.workload = "w", .target = "virtual", .hardware = "1 x NVIDIA H200"});
  add(candidate::Proposed{.candidate = candidate_of(0, "// seed\n")});
  add(candidate::Evaluated{.candidate = 0, .outcome = small});
  add(candidate::Proposed{.candidate = candidate_of(1, "// better\n")});
  add(candidate::Evaluated{.candidate = 1, .outcome = large});
  add(candidate::BestChanged{.candidate = 1, .seconds = 19e-6});
  const std::string seen = shell_("cuco show 3").out;
  EXPECT_THAT(seen, HasSubstr("35.0 us predicted on the shapes of #1"));
  EXPECT_THAT(seen, HasSubstr("19.0 us predicted against 35.0 us: 1.84x"));
  EXPECT_THAT(seen, ::testing::Not(HasSubstr("13.0 us")));
  EXPECT_THAT(seen, ::testing::Not(HasSubstr("collectives")));
}

TEST_F(Runs, CostAddsUpCallsByModelRoleAndCandidate) {
  const Seen seen = shell_("cuco cost 1 --candidates");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out, HasSubstr("2 calls  200 in  120 cached  40 out  10 reasoning"));
  EXPECT_THAT(seen.out, HasSubstr("$0.2500 + 1 of unknown price"));
  EXPECT_THAT(seen.out, HasSubstr("broken attempts: 7 more tokens"));
  EXPECT_THAT(seen.out, HasSubstr("cut off: 1 call without an answer, at most 700 tokens"));
  const auto json = nlohmann::json::parse(shell_("cuco cost 1 --json").out);
  EXPECT_EQ(json["models"]["house:m"]["dollars"], 0.25);
  EXPECT_FALSE(json["models"]["spare:n"].contains("dollars"));
  EXPECT_EQ(json["roles"]["propose"]["calls"], 2);
  EXPECT_EQ(json["candidates"]["2"]["prompt_tokens"], 100);
  EXPECT_EQ(shell_("cuco cost 2").out, "run 0002 asked no model\n");
}

TEST_F(Runs, BestWritesTheWinner) {
  const Seen seen = shell_("cuco best 1 -o faster && cat faster/program.cu");
  EXPECT_EQ(seen.exit_code, 0) << seen.error;
  EXPECT_THAT(seen.out, HasSubstr("written to faster\n// better\n"));
}

TEST_F(Runs, BestDoesNotOverwriteUnasked) {
  (void)shell_("mkdir mine");
  shell_.write("mine/program.cu", "// mine\n");
  const Seen refused = shell_("cuco best 1 -o mine");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("mine is not empty"));
  EXPECT_EQ(shell_("cat mine/program.cu").out, "// mine\n");
  EXPECT_EQ(shell_("cuco best 1 -o mine --force && cat mine/program.cu").exit_code, 0);
  EXPECT_EQ(shell_("cat mine/program.cu").out, "// better\n");
}

TEST_F(Runs, WhatIsNotThereIsNamed) {
  EXPECT_EQ(shell_("cuco best last").exit_code, 1);
  EXPECT_EQ(shell_("cuco show 9").exit_code, 2);
  EXPECT_EQ(shell_("cuco show 1 7").error,
            "cuco: run 0001 has no candidate 7; valid numbers are 0 to 2\n");
  EXPECT_THAT(Shell()("cuco runs").error, HasSubstr("no runs in runs"));
}

TEST(Demo, IsShownReportedAndServedWithoutCompiler) {
  const Shell shell;
  // No nvcc, no GPU: nothing but the shell's own words can be found.
  const Seen demo = shell("PATH=$(dirname $(which cuco)):/bin; cuco demo");
  EXPECT_EQ(demo.exit_code, 0) << demo.error;
  EXPECT_THAT(demo.error, HasSubstr("this is a playback"));
  EXPECT_THAT(demo.out, HasSubstr("predicted"));
  EXPECT_THAT(shell("cuco show demo").out, HasSubstr("← best"));
  EXPECT_THAT(shell("cuco explain demo").out, HasSubstr("because"));
  EXPECT_EQ(shell("cuco report demo -o page.html").exit_code, 0);
  EXPECT_THAT(*system::read_file(shell.folder() / "page.html"), HasSubstr("speed-up, predicted"));
  const Seen served = shell(
      "cuco serve --port 0 > log & trap \"kill $!\" EXIT;"
      "for i in $(seq 100); do grep -q http log && break; sleep 0.1; done;"
      "url=$(grep -o \"http://[0-9.:]*\" log); curl -s --noproxy \"*\" $url/ $url/api/runs;"
      "code() { curl -s --noproxy \"*\" -o /dev/null -w \" %{http_code}\" $url/api/runs/7 "
      "\"$@\"; };"
      "code -H \"Host: elsewhere.example\"; code");
  EXPECT_THAT(served.out, HasSubstr("<html"));
  EXPECT_THAT(served.out, HasSubstr("\"run\":\"demo\""));
  EXPECT_THAT(served.out, HasSubstr(" 403 404"));
}

TEST(Demo, PlaysAsJson) {
  const Shell shell;
  const Seen demo = shell("cuco --json demo");
  EXPECT_EQ(demo.exit_code, 0);
  const auto last = demo.out.rfind("{\"result\"");
  ASSERT_NE(last, std::string::npos);
  EXPECT_THAT(demo.out.substr(last), HasSubstr("\"predicted\":true"));
}

}  // namespace
}  // namespace cuco::test
