// SPDX-License-Identifier: Apache-2.0
#include "expert/expert.h"

#include <set>

#include <gtest/gtest.h>

#include "../../fakes/no_exchanges.h"
#include "analysis/analyse.h"
#include "expert/edit.h"
#include "program/regions.h"
#include "program/tokens.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;
/// Three ideas that differ.
Ideas some_ideas() {
  Ideas ideas;
  for (const std::string name : {"a", "b", "c"}) {
    Idea idea{{}, name, name, "int " + name + ";\n"};
    idea.directive.chunk = {design::ChunkKind::Bytes, static_cast<std::uint64_t>(name[0])};
    ideas.ideas.push_back(std::move(idea));
  }
  return ideas;
}

TEST(Expert, ProposesEachIdeaOnceAndThenNothing) {
  const Ideas ideas = some_ideas();
  Expert expert(ideas, "program.cu");
  fakes::NoExchanges log;
  for (int i = 0; i < 3; ++i) {
    auto answer = expert.propose({.phase = "explore", .turn = i}, log);
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(std::get<candidate::Proposal>(**answer).directive,
              ideas.ideas[static_cast<std::size_t>(i)].directive);
  }
  EXPECT_FALSE(expert.propose({.phase = "explore", .turn = 3}, log)->has_value());
}

TEST(Expert, LeavesOutWhatAnEarlierPhaseHasTried) {
  const Ideas ideas = some_ideas();
  Expert expert(ideas, "program.cu");
  fakes::NoExchanges log;
  auto tried = std::make_shared<candidate::Judged>();
  tried->candidate.lineage.phase = "fast path";
  tried->candidate.code_hash =
      program::normalised_hash(program::single_file("program.cu", ideas.ideas[0].source));
  const candidate::History history({tried});
  const auto first = expert.propose({.phase = "explore", .history = history}, log);
  EXPECT_EQ(std::get<candidate::Proposal>(**first).directive, ideas.ideas[1].directive);
}

TEST(Expert, TriesOneOfEachKindBeforeTheSecondOfAny) {
  const auto idea = [](const std::string& family, design::Backend backend, const char* name) {
    Idea made{{}, family, name, ""};
    made.directive.backend = backend;
    return made;
  };
  using design::Backend;
  std::string order;
  for (const Idea& one :
       by_turns({idea("chunks", Backend::Lsa, "1"), idea("chunks", Backend::Lsa, "2"),
                 idea("chunks", Backend::Lsa, "3"), idea("chunks", Backend::Multimem, "4"),
                 idea("sends", Backend::Lsa, "5"), idea("sends", Backend::Lsa, "6")}))
    order += one.because;
  EXPECT_EQ(order, "145263");
}

TEST(Edits, ApplyInAnyOrderAndTakeParts) {
  Edits edits("abcdef");
  edits.replace(4, 5, "E");
  edits.insert(1, "-");
  edits.insert(1, "+");
  EXPECT_EQ(edits.take(3, 6), "dEf");
  EXPECT_EQ(edits.apply(), "a-+bcdef");
}

/// The designs that do not ask how it communicates.
Ideas ideas_for(const char* workload, std::string* seed) {
  *seed = *system::read_file(kRoot / "workloads" / workload / "program.cu");
  const auto graph = analysis::analyse("program.cu", *seed, {.include_paths = {kRoot / "include"}});
  return graph ? make_ideas(*graph, *seed) : Ideas{};
}

TEST(Expert, MovesKernelsWhereNothingIsCommunicated) {
  std::string seed;
  Expert expert(ideas_for("silu_and_mul", &seed), "program.cu");
  CUCO_NEEDS("libclang", expert.ideas().kernels != nullptr, "nothing was parsed");
  ASSERT_EQ(expert.ideas().ideas.size(), 1U);  // recorded as a graph
  fakes::NoExchanges log;
  std::set<std::string> designs;
  for (int turn = 1; turn < 8; ++turn) {
    const auto answer = expert.propose({.phase = "explore", .turn = turn}, log);
    ASSERT_TRUE(answer && answer->has_value());
    const auto& proposal = std::get<candidate::Proposal>(**answer);
    // None of them has a verdict yet: they are told apart by the turn.
    EXPECT_TRUE(designs.insert(to_text(proposal.directive.kernel)).second);
    EXPECT_FALSE(*program::find_frozen_edit(seed, proposal.source.files().front().text));
  }
  EXPECT_TRUE(designs.contains("16-byte vectors"));
}

TEST(Expert, MakesWhatIsAskedForOfItsList) {
  std::string seed;
  Expert expert(ideas_for("silu_and_mul", &seed), "program.cu");
  CUCO_NEEDS("libclang", expert.ideas().kernels != nullptr, "nothing was parsed");
  candidate::Judged judged;
  judged.candidate.source = program::single_file("program.cu", seed);
  const auto offers = expert.offers(judged);
  ASSERT_GT(offers.size(), 40U);
  fakes::NoExchanges log;
  const candidate::History history({std::make_shared<candidate::Judged>(judged)});
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}, offers.size() - 1}) {
    const auto answer =
        expert.propose({.phase = "enumerate", .offer = place, .history = history}, log);
    ASSERT_TRUE(answer && answer->has_value());
    const auto& proposal = std::get<candidate::Proposal>(**answer);
    EXPECT_EQ(proposal.directive, offers[place].directive);
    EXPECT_EQ(program::normalised_hash(proposal.source), offers[place].code_hash);
  }
}

TEST(Expert, OffersTheFirstOfEachKindAboveAll) {
  const design::Directive lsa{design::Backend::Lsa};
  const design::Directive gin{design::Backend::Gin};
  Ideas ideas;
  ideas.ideas = by_turns({{lsa, "a", "", "1"}, {lsa, "a", "", "2"}, {gin, "a", "", "3"}});
  Expert expert(std::move(ideas), "program.cu");
  const auto offers = expert.offers({});
  ASSERT_EQ(offers.size(), 3U);
  EXPECT_EQ(offers[1].directive, gin);
  EXPECT_GT(offers[0].promise, offers[1].promise);
  // The second of a kind comes well after the first of the last.
  EXPECT_GT(offers[1].promise - offers[2].promise, 10 * (offers[0].promise - offers[1].promise));
}

TEST(Expert, RecordsWhatTheHostDrives) {
  std::string seed;
  const Ideas ideas = ideas_for("kv_transfer", &seed);
  CUCO_NEEDS("libclang", !ideas.ideas.empty() || !ideas.discarded.empty(), "nothing was parsed");
  ASSERT_FALSE(ideas.ideas.empty());
  const Idea& idea = ideas.ideas.front();
  EXPECT_EQ(idea.family, "CUDA graph replay");
  EXPECT_EQ(ideas.kernels, nullptr);  // it communicates
  EXPECT_NE(idea.source.find("return make_replays(**state);"), std::string::npos) << idea.source;
  EXPECT_NE(idea.source.find("int run_once(State& state"), std::string::npos) << idea.source;
  EXPECT_FALSE(*program::find_frozen_edit(seed, idea.source));
}

}  // namespace
}  // namespace cuco::expert
