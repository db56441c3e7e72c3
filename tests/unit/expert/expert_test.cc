// SPDX-License-Identifier: Apache-2.0
#include "expert/expert.h"

#include <cstdlib>
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
const design::TopologyFacts kOneNode{.ranks = 4, .lsa_ranks = 4};

class ExpertOnGemm : public testing::Test {
 protected:
  // Parsing takes a second: once for all tests.
  static void SetUpTestSuite() {
    seed_ = *system::read_file(kRoot / "workloads/gemm_allgather/program.cu");
    auto graph = analysis::analyse("program.cu", seed_, {.include_paths = {kRoot / "include"}});
    if (!graph && graph.error().kind() == ErrorKind::NotFound) {
      missing_ = graph.error().message();
      return;
    }
    ASSERT_TRUE(graph) << graph.error().message();
    graph_ = *std::move(graph);
    ideas_ = make_ideas(graph_, seed_, kOneNode, {});
  }

  void SetUp() override { CUCO_NEEDS("libclang", missing_.empty(), missing_); }

  static inline std::string missing_;
  static inline std::string seed_;
  static inline analysis::CommunicationGraph graph_;
  static inline Ideas ideas_;
};

TEST_F(ExpertOnGemm, OffersEveryFamilyOnceBeforeTurningKnobs) {
  for (const auto& discarded : ideas_.discarded) {
    ADD_FAILURE() << discarded.design << ": " << discarded.reason;
  }
  ASSERT_EQ(ideas_.ideas.size(), 10U);
  std::set<std::string> first;
  for (std::size_t i = 0; i < 4; ++i)
    first.insert(ideas_.ideas[i].family);
  EXPECT_EQ(first.size(), 4U);
}

TEST_F(ExpertOnGemm, LeavesFrozenBytesAlone) {
  for (const auto& idea : ideas_.ideas) {
    const auto edit = program::find_frozen_edit(seed_, idea.source);
    ASSERT_TRUE(edit) << edit.error().message();
    EXPECT_FALSE(edit->has_value()) << (*edit)->line << ": " << (*edit)->is;
  }
}

TEST_F(ExpertOnGemm, LeavesNoHostCollectiveAndParsesAgain) {
  if (const char* folder = std::getenv("CUCO_KEEP_IDEAS")) {
    for (std::size_t i = 0; i < ideas_.ideas.size(); ++i) {
      ASSERT_TRUE(system::write_file(system::Path(folder) / (std::to_string(i) + ".cu"),
                                     ideas_.ideas[i].source));
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const auto graph = analysis::analyse("program.cu", ideas_.ideas[i].source,
                                         {.include_paths = {kRoot / "include"}});
    ASSERT_TRUE(graph) << graph.error().message();
    EXPECT_TRUE(graph->collectives.empty()) << ideas_.ideas[i].family;
    EXPECT_TRUE(graph->problems.empty()) << ideas_.ideas[i].family << ": " << graph->problems[0];
  }
}

TEST_F(ExpertOnGemm, OffersNothingThatReachesAcrossNodes) {
  const auto ideas = make_ideas(graph_, seed_, {.ranks = 8, .lsa_ranks = 4}, {});
  EXPECT_TRUE(ideas.ideas.empty());
  ASSERT_FALSE(ideas.discarded.empty());
  EXPECT_EQ(ideas.discarded[0].reason,
            "LSA reaches 4 of 8 ranks here: the others are on other nodes");
}

TEST_F(ExpertOnGemm, ProposesEachIdeaOnceAndThenNothing) {
  Expert expert(ideas_, "program.cu");
  fakes::NoExchanges log;
  const auto count = static_cast<int>(ideas_.ideas.size());
  for (int i = 0; i < count; ++i) {
    auto answer = expert.propose({.phase = "explore", .turn = i}, log);
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(std::get<candidate::Proposal>(**answer).directive,
              ideas_.ideas[static_cast<std::size_t>(i)].directive);
  }
  EXPECT_FALSE(expert.propose({.phase = "explore", .turn = count}, log)->has_value());
}

TEST_F(ExpertOnGemm, LeavesOutWhatAnEarlierPhaseHasTried) {
  Expert expert(ideas_, "program.cu");
  fakes::NoExchanges log;
  auto tried = std::make_shared<candidate::Judged>();
  tried->candidate.lineage.phase = "fast path";
  tried->candidate.code_hash =
      program::normalised_hash(program::single_file("program.cu", ideas_.ideas[0].source));
  const candidate::History history({tried});
  const auto first = expert.propose({.phase = "explore", .history = history}, log);
  EXPECT_EQ(std::get<candidate::Proposal>(**first).directive, ideas_.ideas[1].directive);
}

TEST(Edits, ApplyInAnyOrderAndTakeParts) {
  Edits edits("abcdef");
  edits.replace(4, 5, "E");
  edits.insert(1, "-");
  edits.insert(1, "+");
  EXPECT_EQ(edits.take(3, 6), "dEf");
  EXPECT_EQ(edits.apply(), "a-+bcdef");
}

/// Programs without an all-gather: the designs that do not ask what is computed.
Ideas ideas_for(const char* workload, std::string* seed) {
  *seed = *system::read_file(kRoot / "workloads" / workload / "program.cu");
  const auto graph = analysis::analyse("program.cu", *seed, {.include_paths = {kRoot / "include"}});
  return graph ? make_ideas(*graph, *seed, kOneNode, {}) : Ideas{};
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
    EXPECT_FALSE(*program::find_frozen_edit(seed, proposal.source.files().at(0).text));
  }
  EXPECT_TRUE(designs.contains("16-byte vectors"));
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
