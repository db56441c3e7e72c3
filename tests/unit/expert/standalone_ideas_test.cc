// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone_ideas.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fakes/no_exchanges.h"

namespace cuco::expert {
namespace {

using design::Backend;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kProgram = R"(#include <nccl.h>
int main() {
  ncclCommInitRank(&comm, 4, id, 0);
  ncclAllReduce(x, y, n, ncclFloat, ncclSum, comm, stream);
})";

/// What the rules ask of a program that reduces over all ranks.
analysis::CommunicationGraph reducing() {
  analysis::CommunicationGraph graph;
  graph.collectives.push_back({.name = "ncclAllReduce", .reduces = true});
  graph.sites.push_back({.pattern = analysis::Pattern::AllReduce});
  return graph;
}

std::vector<Backend> backends(const StandaloneIdeas& made) {
  std::vector<Backend> list;
  if (!made.fast_path) return list;
  for (const Idea& idea : made.fast_path->replacements)
    list.push_back(idea.directive.backend);
  return list;
}

TEST(StandaloneIdeas, OfferWhatTheMachineCanDoTheUsualFirst) {
  const auto made = make_standalone_ideas(reducing(), kProgram,
                                          {.ranks = 4, .lsa_ranks = 4, .multimem = true}, {});
  // The switch, then sums in one round and in two, then other sizes.
  EXPECT_THAT(backends(made), ElementsAre(Backend::Lsa, Backend::Multimem, Backend::Lsa,
                                          Backend::Lsa, Backend::Lsa, Backend::Lsa));
  ASSERT_EQ(made.discarded.size(), 1U);
  EXPECT_THAT(made.discarded[0].reason, HasSubstr("GIN needs a NIC"));
}

TEST(StandaloneIdeas, CrossNodesWithTheNetworkCard) {
  const auto made =
      make_standalone_ideas(reducing(), kProgram, {.ranks = 8, .lsa_ranks = 4, .gin = true}, {});
  EXPECT_EQ(backends(made).front(), Backend::Hybrid);
  EXPECT_EQ(backends(made).back(), Backend::Gin);
  const auto alone =
      make_standalone_ideas(reducing(), kProgram, {.ranks = 2, .lsa_ranks = 1, .gin = true}, {});
  EXPECT_EQ(backends(alone).front(), Backend::Gin);
}

TEST(StandaloneIdeas, OfferEachCodeOnceAndOnlyTheOthersAfterTheFirst) {
  const auto made = make_standalone_ideas(reducing(), kProgram,
                                          {.ranks = 4, .lsa_ranks = 4, .multimem = true}, {});
  ASSERT_TRUE(made.fast_path);
  std::set<std::string> codes{code_hash(made.fast_path->infrastructure)};
  for (const Idea& idea : made.fast_path->replacements) {
    EXPECT_TRUE(codes.insert(code_hash(idea)).second) << idea.because;
    EXPECT_EQ(idea.continues, code_hash(made.fast_path->infrastructure));
  }
}

TEST(StandaloneIdeas, SayWhyThereIsNone) {
  const auto silent = make_standalone_ideas({}, "int main() {}", {.ranks = 4, .lsa_ranks = 4}, {});
  EXPECT_FALSE(silent.fast_path);
  ASSERT_EQ(silent.discarded.size(), 1U);
  EXPECT_THAT(silent.discarded[0].reason, HasSubstr("no NCCL function that communicates"));
  const auto old =
      make_standalone_ideas(reducing(), kProgram, {.ranks = 4, .lsa_ranks = 4}, {.code = 22703});
  EXPECT_FALSE(old.fast_path);
  EXPECT_THAT(old.discarded[0].reason, HasSubstr("has no device API"));
}

TEST(Expert, NamesAsParentWhatAnIdeaGoesOnFrom) {
  const auto made = make_standalone_ideas(reducing(), kProgram, {.ranks = 4, .lsa_ranks = 4}, {});
  ASSERT_TRUE(made.fast_path);
  const auto judged = [](candidate::Number number, std::string hash) {
    auto known = std::make_shared<candidate::Judged>();
    known->candidate.number = number;
    known->candidate.code_hash = std::move(hash);
    return known;
  };
  const candidate::History history(
      {judged(0, "seed"), judged(1, code_hash(made.fast_path->infrastructure))});
  Expert expert({made.fast_path->replacements, {}}, "program.cu");
  fakes::NoExchanges log;
  const auto parent = [&](const candidate::History& known) {
    const auto answer = expert.propose({.phase = "fast path", .history = known}, log);
    return std::get<candidate::Proposal>(**answer).lineage.parent;
  };
  EXPECT_EQ(parent(history), 1);
  EXPECT_EQ(parent(candidate::History({judged(0, "seed")})), candidate::kSeed);
}

}  // namespace
}  // namespace cuco::expert
