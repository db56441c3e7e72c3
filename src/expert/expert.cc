// SPDX-License-Identifier: Apache-2.0
#include "expert/expert.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "expert/host_designs.h"
#include "program/tokens.h"

namespace cuco::expert {
namespace {
using design::Directive;

candidate::Number parent_of(const Idea& idea, const candidate::History& history) {
  if (idea.continues.empty()) return candidate::kSeed;
  for (const candidate::Judged& judged : history) {
    if (judged.candidate.code_hash == idea.continues) return judged.candidate.number;
  }
  return candidate::kSeed;
}

using Kind = std::tuple<std::string, design::Backend, design::Placement, design::SyncScope>;

Kind kind_of(const Idea& idea) {
  const Directive& directive = idea.directive;
  return {idea.family, directive.backend, directive.placement, directive.sync};
}

/// The second of a kind is what may be right where the first is not.
constexpr double kLaterOfItsKind = 0.97;
/// Of what is alike otherwise, what comes first is what fits the program best.
constexpr double kLaterInOrder = 0.999;

}  // namespace

std::vector<Idea> by_turns(std::vector<Idea> ideas) {
  std::map<Kind, int> seen;
  std::vector<std::pair<int, Idea>> turns;
  for (Idea& idea : ideas) {
    const int turn = seen[kind_of(idea)]++;
    turns.emplace_back(turn, std::move(idea));
  }
  std::ranges::stable_sort(turns, {}, &std::pair<int, Idea>::first);
  std::vector<Idea> sorted;
  for (auto& [turn, idea] : turns)
    sorted.push_back(std::move(idea));
  return sorted;
}

Ideas make_ideas(const analysis::CommunicationGraph& graph, std::string_view text) {
  Ideas made;
  const std::string family = "CUDA graph replay";
  auto recorded = replay_by_graph(graph, text);
  if (recorded) {
    made.ideas.push_back({Directive{}, family,
                          family +
                              ": every run submits the same work to the GPU: recorded once per "
                              "buffer set, it needs one host launch instead of many",
                          *std::move(recorded)});
  } else {
    made.discarded.push_back({family, recorded.error().message()});
  }
  if (analysis::program_facts(graph).has_collective) {
    // Its own collectives come first, and the moves start from the seed.
    made.discarded.push_back({"kernel", "the program communicates"});
    return made;
  }
  made.kernels = std::make_shared<kernels::Moves>(graph, std::string(text));
  for (const auto& refusal : made.kernels->refusals())
    made.discarded.push_back({"kernel", refusal});
  return made;
}

std::string code_hash(const Idea& idea) {
  return program::normalised_hash(program::single_file("program.cu", idea.source));
}

std::vector<candidate::Offer> Expert::offers(const candidate::Judged& seed) {
  std::vector<candidate::Offer> list;
  std::map<Kind, double> promise;
  double order = 1;
  for (const Idea& idea : ideas_.ideas) {
    double& kind = promise.try_emplace(kind_of(idea), 1).first->second;
    list.push_back({idea.directive, idea.family, kind * order, code_hash(idea)});
    kind *= kLaterOfItsKind;
    order *= kLaterInOrder;
  }
  if (ideas_.kernels == nullptr) return list;
  for (const kernels::Listed& listed : ideas_.kernels->list(seed)) {
    list.push_back({{.kernel = listed.design}, "kernel", listed.promise * order, listed.hash});
    order *= kLaterInOrder;
  }
  return list;
}

candidate::Proposal Expert::offered(std::size_t offer, const candidate::Task& task) {
  if (offer < ideas_.ideas.size()) {
    const Idea& idea = ideas_.ideas[offer];
    return proposal(program::single_file(path_, idea.source), idea.directive,
                    parent_of(idea, task.history), idea.because);
  }
  const kernels::Listed& listed =
      ideas_.kernels->list(task.history.seed())[offer - ideas_.ideas.size()];
  return proposal(program::single_file(path_, ideas_.kernels->source_of(listed.design)),
                  {.kernel = listed.design}, candidate::kSeed,
                  fmt::format("{}: {}", to_text(listed.design), listed.because));
}

Result<std::optional<candidate::ProposerAnswer>> Expert::propose(const candidate::Task& task,
                                                                 candidate::ExchangeLog& /*log*/) {
  if (task.offer) return std::optional(candidate::ProposerAnswer{offered(*task.offer, task)});
  // By turn, not by what is new: several of its ideas may be on their way unseen.
  int left = task.turn;
  for (const auto& idea : ideas_.ideas) {
    auto source = program::single_file(path_, idea.source);
    const auto hash = program::normalised_hash(source);
    const bool tried =
        std::any_of(task.history.begin(), task.history.end(), [&](const candidate::Judged& judged) {
          return judged.candidate.lineage.phase != task.phase && judged.candidate.code_hash == hash;
        });
    if (tried || left-- > 0) continue;
    return std::optional(candidate::ProposerAnswer{
        proposal(std::move(source), idea.directive, parent_of(idea, task.history), idea.because)});
  }
  if (ideas_.kernels == nullptr) return std::optional<candidate::ProposerAnswer>();
  // Of the moves that it was asked for before, some have no verdict yet.
  const auto seen =
      std::count_if(task.history.begin(), task.history.end(), [&](const candidate::Judged& judged) {
        return judged.candidate.lineage.proposer == name() &&
               judged.candidate.lineage.phase == task.phase &&
               !(judged.candidate.directive.kernel == design::KernelDesign{});
      });
  const auto move = ideas_.kernels->next(task.history, std::max(0, left - static_cast<int>(seen)));
  if (!move) return std::optional<candidate::ProposerAnswer>();
  Directive directive;
  directive.kernel = move->design;
  return std::optional(candidate::ProposerAnswer{
      proposal(program::single_file(path_, move->source), directive, move->parent, move->because)});
}

candidate::Proposal Expert::proposal(program::Source source,
                                     const Directive& directive,
                                     candidate::Number parent,
                                     std::string because) const {
  candidate::Proposal made{.source = std::move(source), .directive = directive};
  made.lineage.proposer = name();
  made.lineage.island = std::string(design::name(directive.backend));
  made.lineage.parent = parent;
  made.lineage.because = std::move(because);
  return made;
}

}  // namespace cuco::expert
