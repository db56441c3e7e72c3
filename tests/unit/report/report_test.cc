// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/baselines.h"
#include "report/detail.h"
#include "report/export.h"
#include "report/facts.h"
#include "report/forms.h"
#include "report/page.h"
#include "report/progress.h"
#include "store/memory_store.h"

namespace cuco::report {
namespace {
using candidate::Fidelity;
using candidate::Scored;
using testing::HasSubstr;
using testing::Not;

class Reporting : public testing::Test {
 protected:
  Reporting() {
    append(candidate::RunStarted{"workloads/gemm/", 7, "virtual cluster", "4 x H200", "{}"});
    add(0, "int seed;\n", "");
    judge(0, Fidelity::Standard, Scored{.seconds = 5e-4, .hardware = "4 x H200"});
    append(candidate::StepDone{"replace", true, "505 us"});
    add(1, "int fast;\n", "tiles are final early");
    judge(1, Fidelity::Final,
          Scored{.seconds = 3.18e-4,
                 .baseline_seconds = 5e-4,
                 .bound_seconds = 2.12e-4,
                 .hardware = "4 x H200",
                 .shapes = {{.shape = "1k",
                             .seconds = 3.18e-4,
                             .baseline_seconds = 5e-4,
                             .bound_seconds = 2.12e-4,
                             .phases = {{"exposed communication", 4.4e-5}}}},
                 .checked_shapes = 4,
                 .checked_hidden_shapes = 2,
                 .checked_schedules = 20});
    append(candidate::BestChanged{1, 3.18e-4});
    candidate::Candidate garbage{.number = 2};
    garbage.lineage.proposer = "command:x";
    append(candidate::Exchanged{2, {.provider = "command", .answer = "I am sorry"}});
    append(candidate::Proposed{garbage, candidate::ProposalRejected{"no directive", "I am sorry"}});
  }

  void append(candidate::EventBody body) {
    const auto event = store.append(std::move(body));
    state.apply(*event);
    for (const auto& line : describe(*event, state))
      lines.push_back(line.label + ": " + line.text);
  }
  void add(int number, std::string text, std::string because) {
    candidate::Candidate made{.number = number,
                              .source = program::single_file("program.cu", std::move(text))};
    made.directive = {design::Backend::Lsa,
                      design::Placement::ProducerFused,
                      design::SyncScope::PerChunkFlag,
                      {design::IssuerUnit::Warp, 0},
                      {design::ChunkKind::Bytes, 65536}};
    made.lineage = {.proposer = "expert", .phase = "explore", .because = std::move(because)};
    if (number > 0) made.lineage.parent = 0;
    made.code_hash = "abcd";
    append(candidate::Proposed{made, std::nullopt});
  }
  void judge(int number, Fidelity fidelity, candidate::Outcome outcome) {
    append(candidate::Evaluated{number, {.fidelity = fidelity}, std::move(outcome), 1});
  }

  ManualClock clock;
  store::MemoryStore store{clock};
  candidate::RunState state;
  std::vector<std::string> lines;
};

TEST_F(Reporting, SaysWhatHappenedAndCallsPredictedTimesPredicted) {
  EXPECT_THAT(
      lines, testing::ElementsAre(
                 "#0: ✓ 500 us predicted  the seed  (standard)", "fast path: replace ✓  505 us",
                 "#1: ✓ 318 us predicted 1.57x  LSA · producer-fused · per-chunk flag · warp · 64 "
                 "KiB  (final)",
                 "best: #1  318 us predicted 1.57x  LSA · producer-fused · per-chunk flag · warp · "
                 "64 KiB",
                 "#2: ✗ no candidate: no directive"));
}

TEST_F(Reporting, EndsWithTimeBoundChecksAndWhatToDoNext) {
  const auto end = closing(state, "0003", "runs/0003/best");
  EXPECT_THAT(end[0].text, HasSubstr("318 us predicted against 500 us: 1.57x on 4 x H200, 67 % of "
                                     "the bound · correct on 4 shapes and 2 hidden ones × 20"));
  EXPECT_THAT(end[2].text, HasSubstr("cuco explain 0003 1"));
}

TEST_F(Reporting, GivesTheResultAsJson) {
  const auto json = parse_json(result_json(state, "0003", "runs/0003/best"));
  ASSERT_TRUE(json);
  const auto& result = json->at("result");
  EXPECT_NEAR(result.at("speedup").get<double>(), 1.572, 1e-3);
  EXPECT_EQ(result.at("predicted"), true);
  EXPECT_EQ(result.at("hardware"), "4 x H200");
  EXPECT_EQ(result.at("directive"), "LSA · producer-fused · per-chunk flag · warp · 64 KiB");
  EXPECT_EQ(result.at("code_hash"), "abcd");
  EXPECT_EQ(result.at("verdict"), "scored");
}

TEST_F(Reporting, PutsDrawingAtRandomBesideTheSearch) {
  // #1 is the winner; of seven more none is as fast, one of them a child of it.
  for (int number = 3; number <= 9; ++number) {
    add(number, "int other;\n", "");
    judge(number, Fidelity::Quick, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4});
  }
  judge(3, Fidelity::Scaled, Scored{.seconds = 4e-4, .baseline_seconds = 5e-4});
  candidate::Candidate child{.number = 10};
  child.lineage = {.proposer = "expert", .phase = "explore", .parent = 1};
  append(candidate::Proposed{child, std::nullopt});
  const Baselines made = baselines(state);
  EXPECT_EQ(made.candidates, 10);
  EXPECT_EQ(made.found_at, 1);
  EXPECT_EQ(made.drawn_at, 5);
  EXPECT_EQ(made.from_start, 9);
  EXPECT_NEAR(made.best_from_start, 1.572, 1e-3);
  EXPECT_THAT(closing(state, "1", "")[2].text, HasSubstr("why  cuco explain 1 1"));
  EXPECT_THAT(closing(state, "1", "")[3].text,
              HasSubstr("after 1 of 10 candidates; drawn at random from the same, after 5"));
  EXPECT_EQ(parse_json(result_json(state, "1", ""))->at("result").at("baselines").at("drawn_at"),
            5);
}

TEST_F(Reporting, ComparesWithSimplerWaysAndSaysFromWhichSeedItDrew) {
  for (int number = 3; number <= 9; ++number) {
    add(number, "int other;\n", "");
    judge(number, Fidelity::Scaled, Scored{.seconds = 4e-4, .baseline_seconds = 5e-4});
  }
  judge(9, Fidelity::Scaled, candidate::Quarantined{.seconds = 1e-9});
  EXPECT_THAT(run_page(state, {}), Not(HasSubstr("best made from the seed")))
      << "the winner itself was made from the seed";
  candidate::Candidate child{.number = 10, .source = program::single_file("program.cu", "int c;")};
  child.lineage = {.proposer = "expert", .phase = "explore", .parent = 3};
  append(candidate::Proposed{child, std::nullopt});
  judge(10, Fidelity::Final, Scored{.seconds = 2e-4, .baseline_seconds = 5e-4});
  append(candidate::BestChanged{10, 2e-4});
  const std::string page = run_page(state, {});
  const std::string markdown = run_markdown(state, "0001");
  for (const std::string& text : {page, markdown}) {
    EXPECT_THAT(text, HasSubstr("as fast as the winner within 1 % after"));
    EXPECT_THAT(text, HasSubstr("made from the seed: 1.57x"));
    EXPECT_THAT(text, HasSubstr("and seed 7: another seed tries others"));
    EXPECT_THAT(text, HasSubstr("0 used what is not allowed, and 1 were faster than physics"));
  }
  EXPECT_THAT(page, HasSubstr("best made from the seed</th>"));
  const auto json = parse_json(run_json(state, "0001"));
  EXPECT_GT(json->at("result").at("baselines").at("drawn_at").get<int>(), 1);
  EXPECT_THAT(json->at("evidence_from").get<std::string>(), HasSubstr("seed 7"));
}

TEST_F(Reporting, PutsWhatWasWrittenByHandBesideTheWinner) {
  const std::vector<Beside> beside{
      {"fused_<lsa>.cu", Scored{.seconds = 4e-4, .baseline_seconds = 5e-4}},
      {"wrong.cu", candidate::Crashed{}}};
  const std::string page = run_page(state, {.beside = beside});
  EXPECT_THAT(page, HasSubstr("fused_&lt;lsa&gt;.cu</th>"));
  EXPECT_THAT(page,
              HasSubstr("fused_&lt;lsa&gt;.cu: 400 us predicted, 1.25x the seed&#39;s speed; the "
                        "winner has 1.26x that of fused_&lt;lsa&gt;.cu"));
  EXPECT_THAT(page, HasSubstr("wrong.cu: "));
  EXPECT_THAT(page, Not(HasSubstr("wrong.cu</th>")));
  EXPECT_THAT(run_markdown(state, "1", beside), HasSubstr("Judged beside it: fused_&lt;lsa>.cu"));
  const auto json = parse_json(run_json(state, "1", beside));
  EXPECT_EQ(json->at("beside").at(0).at("seconds"), 4e-4);
  EXPECT_EQ(json->at("beside").at(1).at("verdict"), "crashed");
  EXPECT_EQ(parse_json(run_json(state, "1"))->at("beside").size(), 0U);
}

TEST_F(Reporting, HasNoWinnerThatIsFasterByLessThanHalfAPercent) {
  candidate::Scored scored = *state.entries[1].scored();
  scored.seconds = scored.baseline_seconds / 1.004;
  judge(1, Fidelity::Final, scored);
  EXPECT_EQ(winner(state), nullptr);
  scored.seconds = scored.baseline_seconds / 1.006;
  judge(1, Fidelity::Final, scored);
  EXPECT_NE(winner(state), nullptr);
}

TEST_F(Reporting, SaysOnWhichShapesWhereNotAllWereTimed) {
  candidate::Scored seed = *state.entries[0].scored();
  seed.shapes = {{.shape = "small", .seconds = 1}, {.shape = "large", .seconds = 2}};
  judge(0, Fidelity::Final, seed);
  candidate::Scored quick = *state.entries[1].scored();
  quick.shapes = {{.shape = "small", .seconds = 0.5}};
  lines.clear();
  judge(1, Fidelity::Final, quick);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("1.57x on small"));
}

TEST_F(Reporting, HasNoWinnerBeforeTheFinalCheck) {
  judge(1, Fidelity::Final, candidate::Findings{});
  EXPECT_EQ(winner(state), nullptr);
  EXPECT_THAT(result_json(state, "1", ""), HasSubstr("no-improvement"));
  EXPECT_THAT(closing(state, "1", "")[0].text, HasSubstr("no correct candidate was faster"));
  judge(1, Fidelity::Quick, Scored{.seconds = 4e-4, .baseline_seconds = 5e-4});
  EXPECT_THAT(closing(state, "1", "")[0].text, HasSubstr("#1, 1.25x at quick, was refused"));
}

TEST_F(Reporting, ClosesWithTheCandidateThatCameFurthestNotWithTheFastestOnSmallShapes) {
  judge(1, Fidelity::Final, candidate::TimedOut{"cuco_run", 60});
  judge(1, Fidelity::Scaled, Scored{.seconds = 4e-4, .baseline_seconds = 5e-4});
  judge(2, Fidelity::Quick, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4});
  EXPECT_THAT(closing(state, "1", "")[0].text, HasSubstr("#1, 1.25x at scaled, was refused"));
}

TEST_F(Reporting, LeavesSourcesOutOfTheEventStream) {
  const auto events = *store.events(0);
  for (const auto& event : events) {
    EXPECT_TRUE(parse_json(event_json(event)));
    EXPECT_THAT(event_json(event), Not(HasSubstr("int seed")));
  }
}

TEST_F(Reporting, CandidatesOfOneDesignAreToldApartByTheirReasons) {
  add(3, "int one;\n", "own kernels over LSA, sums in one round: nothing is left to the host");
  add(4, "int two;\n", "own kernels over LSA, sums in two rounds: nothing is left to the host");
  const std::string design = design_of(state.entries[3]);
  EXPECT_EQ(design, design_of(state.entries[4]));
  EXPECT_THAT(told_apart(state.entries[3], state),
              HasSubstr(design + ", own kernels over LSA, sums in one round"));
  EXPECT_THAT(told_apart(state.entries[4], state), HasSubstr("sums in two rounds"));
}

TEST_F(Reporting, ExplainsGainsAndRejections) {
  const auto why = explanation(state, 1);
  EXPECT_THAT(why, HasSubstr("because  tiles are final early"));
  EXPECT_THAT(why, HasSubstr("1k: 500 us → 318 us\n           exposed communication 44.0 us"));
  EXPECT_THAT(why, HasSubstr("checked  4 shapes and 2 hidden ones × 20 schedules; bound 212 us"));
  EXPECT_THAT(explanation(state, 2), HasSubstr("I am sorry"));
  EXPECT_THAT(why, Not(HasSubstr("machine code")));
}

TEST_F(Reporting, ExplainsAPhaseWithAnArrowOnlyWhereItChanged) {
  judge(0, Fidelity::Final,
        Scored{.seconds = 5e-4,
               .shapes = {{.shape = "1k",
                           .seconds = 5e-4,
                           .phases = {{"math alone", 1e-6}, {"exposed communication", 2e-4}}}}});
  judge(1, Fidelity::Final,
        Scored{.seconds = 3.18e-4,
               .baseline_seconds = 5e-4,
               .shapes = {{.shape = "1k",
                           .seconds = 3.18e-4,
                           .baseline_seconds = 5e-4,
                           .phases = {{"math alone", 1e-6}, {"exposed communication", 4.4e-5}}}}});
  EXPECT_THAT(explanation(state, 1),
              HasSubstr("math alone 1.00 us; exposed communication 200 us → 44.0 us"));
}

TEST_F(Reporting, ExplainsWhatTheSeedAloneSpendsTimeOnAndWhatIsNew) {
  judge(0, Fidelity::Final,
        Scored{.seconds = 5e-4,
               .shapes = {{.shape = "1k",
                           .seconds = 5e-4,
                           .phases = {{"math alone", 1e-6}, {"exposed communication", 2e-4}}}}});
  judge(1, Fidelity::Final,
        Scored{.seconds = 3.18e-4,
               .baseline_seconds = 5e-4,
               .shapes = {{.shape = "1k",
                           .seconds = 3.18e-4,
                           .baseline_seconds = 5e-4,
                           .phases = {{"math alone", 1e-6}, {"polling", 2e-6}}}}});
  EXPECT_THAT(explanation(state, 1),
              HasSubstr("exposed communication 200 us → none; math alone 1.00 us; "
                        "polling none → 2.00 us"));
}

TEST_F(Reporting, SaysWhoseVerdictATwinHas) {
  add(3, "int quick;\n", "another name");
  append(candidate::Evaluated{.candidate = 3,
                              .outcome = Scored{.seconds = 3.18e-4, .baseline_seconds = 5e-4},
                              .code = candidate::MachineCode{"d", "h"},
                              .same_as = 1});
  EXPECT_THAT(lines.back(), HasSubstr("same machine code as #1"));
  EXPECT_THAT(explanation(state, 3),
              HasSubstr("same machine code as #1: its verdict is used (virtual/quick)"));
}

TEST_F(Reporting, ExportsAFolderThatBuildsAlone) {
  const auto files = export_folder(state, 1, "0003", "/* header */");
  program::Source folder{files};
  EXPECT_EQ(folder.find("program.cu")->text, "int fast;\n");
  EXPECT_THAT(folder.find("changes.diff")->text, HasSubstr("+int fast;"));
  EXPECT_THAT(folder.find("README.md")->text, HasSubstr("318 us predicted on 4 x H200, 1.57x"));
  EXPECT_THAT(folder.find("Makefile")->text, HasSubstr("libgemm.so: program.cu"));
  for (const auto& file : files)
    EXPECT_THAT(file.text, Not(HasSubstr("{{"))) << file.path;
}

TEST_F(Reporting, ExportsAProgramUnderItsOwnName) {
  state.started->workload = "somewhere/ring.cu";
  const auto files = export_folder(state, 1, "0003", "/* header */");
  program::Source folder{files};
  EXPECT_EQ(folder.find("program.cu"), nullptr);
  EXPECT_EQ(folder.find("include/cuco/workload.h"), nullptr);
  EXPECT_EQ(folder.find("ring.cu")->text, "int fast;\n");
  EXPECT_THAT(folder.find("changes.diff")->text, HasSubstr("ring.cu"));
  EXPECT_THAT(folder.find("README.md")->text, HasSubstr("`ring.cu` is your program"));
  EXPECT_THAT(folder.find("Makefile")->text, HasSubstr("ring: ring.cu"));
  EXPECT_THAT(folder.find("Makefile")->text, Not(HasSubstr("mpicxx")));
  state.entries[1].candidate.source = program::single_file("program.cu", "MPI_Init(&n, &words);");
  program::Source with_mpi{export_folder(state, 1, "0003", "/* header */")};
  EXPECT_THAT(with_mpi.find("Makefile")->text, HasSubstr("mpicxx --showme:incdirs"));
  for (const auto& file : files)
    EXPECT_THAT(file.text, Not(HasSubstr("{{"))) << file.path;
}

TEST_F(Reporting, MakesAPageThatIsWholeInItself) {
  const auto page = run_page(state, {.run = "0003", .state = "stopped"});
  EXPECT_THAT(page, HasSubstr("1.57x"));
  EXPECT_THAT(page, HasSubstr("speed-up, predicted"));
  EXPECT_THAT(page, HasSubstr("--accent"));  // the style is inside
  EXPECT_THAT(page, HasSubstr("+int fast;"));
  EXPECT_THAT(page, HasSubstr("no directive"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST_F(Reporting, SaysWhatAPredictedTimeIsWorth) {
  add(3, "int large;\n", "");
  Scored scored{.seconds = 1e-4, .baseline_seconds = 2e-4, .hardware = "h200"};
  scored.shapes = {{.shape = "8192^3",
                    .seconds = 1e-4,
                    .baseline_seconds = 2e-4,
                    .scale_model = {128, 256, 1.04e-4, {}, {}, ""}},
                   {.shape = "as it is", .seconds = 1e-4, .baseline_seconds = 2e-4}};
  judge(3, Fidelity::Final, scored);
  append(candidate::BestChanged{3, 1e-4});
  state.entries.front().outcomes.begin()->second = Scored{.seconds = 5e-4, .hardware = "h200"};
  for (const std::string& text :
       {run_page(state, {.run = "1"}), run_markdown(state, "1"), run_json(state, "1")}) {
    EXPECT_THAT(text, HasSubstr("calibrated on an NVIDIA H200"));
  }
  for (const std::string& text : {run_page(state, {.run = "1"}), run_markdown(state, "1")}) {
    EXPECT_THAT(text, HasSubstr("as a scale model, 1/128; 1/256 takes 4 % more"));
    EXPECT_THAT(text, HasSubstr("geometric mean"));
  }
  EXPECT_EQ(scale_text(scored.shapes[1]), "");
  scored.shapes[1].scale_model.factor = 1;
  EXPECT_EQ(scale_text(scored.shapes[1]), "") << "1/1 is the shape itself";
  state.started->provenance.nccl = "22809";
  EXPECT_THAT(asked(state), testing::Contains(testing::Pair("NCCL", "2.28.9")));
}

TEST_F(Reporting, LiftsTheBestSoFarByFullShapesAlone) {
  add(3, "int small;\n", "");
  judge(3, Fidelity::Quick, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4});
  const auto stairs = [&] {
    const std::string page = run_page(state, {.run = "1"});
    const auto begin = page.find("<path d=\"");
    return page.substr(begin, page.find(" fill", begin) - begin);
  };
  const std::string without = stairs();
  judge(3, Fidelity::Scaled, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4});
  EXPECT_GT(stairs().size(), without.size());
}

TEST_F(Reporting, PraisesNobodyWhomACloserLookRefused) {
  EXPECT_THAT(run_page(state, {}), HasSubstr("<tr class=\"best\">"));
  judge(1, Fidelity::Final, candidate::Deadlock{.shape = "1k"});
  EXPECT_THAT(run_page(state, {}), Not(HasSubstr("<tr class=\"best\">")));
  EXPECT_THAT(run_page(state, {}), HasSubstr("faster than the seed so far"));
  append(candidate::RunFinished{});
  EXPECT_THAT(run_page(state, {}), HasSubstr("no correct candidate was faster than the seed<"));
}

TEST_F(Reporting, LetsNobodyWriteIntoThePage) {
  add(3, "int x; // <script>alert(1)</script>\n", "<b onload='x'>");
  judge(3, Fidelity::Final, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4, .hardware = "<i>"});
  append(candidate::BestChanged{3, 1e-4});
  const auto page = run_page(state, {.run = "<u>", .state = "</main>"});
  for (const char* bad : {"<script", "<b onload", "<i>", "<u>", "</main></p>"})
    EXPECT_THAT(page, Not(HasSubstr(bad)));
  EXPECT_THAT(index_page({{"<a>", "", "", state}}), Not(HasSubstr("<a>")));
}

TEST_F(Reporting, TellsHowTheWinnerCameAbout) {
  add(3, "int x;\n", "smaller chunks");
  state.entries[3].candidate.lineage.parent = 1;
  state.entries[3].candidate.directive.chunk.bytes = 32768;
  judge(3, Fidelity::Final, Scored{.seconds = 2.5e-4, .baseline_seconds = 5e-4});
  const auto steps = lineage_of(state, 3);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].number, 0);
  EXPECT_EQ(steps[1].number, 1);
  EXPECT_EQ(steps[2].changed, "chunk");
  EXPECT_NEAR(*steps[2].gain, 3.18 / 2.5, 1e-6);
  // A damaged file: its own ancestor.
  state.entries[1].candidate.lineage.parent = 3;
  EXPECT_EQ(lineage_of(state, 3).size(), 3U);
}

TEST_F(Reporting, CountsWhatWasRejected) {
  add(3, "int x;\n", "");
  judge(3, Fidelity::Quick, candidate::WrongResult{.shape = "1k"});
  add(4, "int y;\n", "");
  judge(4, Fidelity::Quick, candidate::WrongResult{.shape = "2k"});
  const auto kinds = rejected(state);
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].verdict, "wrong-result");
  EXPECT_EQ(kinds[0].count, 2);
  EXPECT_EQ(kinds[0].example, 3);
}

TEST_F(Reporting, IsMarkdownThatNothingBreaksOutOf) {
  add(3, "a ``` b\n", "x | y <script>");
  judge(3, Fidelity::Final, Scored{.seconds = 1e-4, .baseline_seconds = 5e-4, .hardware = "<i>|"});
  append(candidate::BestChanged{3, 1e-4});
  const auto text = run_markdown(state, "0003");
  EXPECT_THAT(text, HasSubstr("**100 us predicted** against 500 us for the seed: **5.00x**"));
  EXPECT_THAT(text, HasSubstr("````diff\n"));
  EXPECT_THAT(text, HasSubstr("&lt;i>\\|"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

TEST_F(Reporting, IsJsonWithEvidenceAndWithoutSecrets) {
  state.started->options = R"({"secret":"hush","proposers":["expert"],"candidates":40})";
  const auto text = run_json(state, "0003");
  EXPECT_THAT(text, Not(HasSubstr("hush")));
  EXPECT_THAT(run_page(state, {}), Not(HasSubstr("hush")));
  const auto json = parse_json(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("asked").at("proposers"), "expert");
  EXPECT_EQ(json->at("evidence")[0].at("schedules"), 20);
  EXPECT_EQ(json->at("lineage").size(), 2U);
  EXPECT_EQ(json->at("candidates").size(), 3U);
  EXPECT_EQ(json->at("rejected")[0].at("verdict"), "proposal-rejected");
}

TEST_F(Reporting, ReloadsOnlyWhatGoesOn) {
  EXPECT_THAT(run_page(state, {.live = true}), HasSubstr("http-equiv=\"refresh\""));
  EXPECT_THAT(run_page(state, {}), Not(HasSubstr("refresh")));
}

}  // namespace
}  // namespace cuco::report
