// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/lane_ideas.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/host_designs.h"
#include "expert/lanes/lanes.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"

namespace cuco::expert::lanes {
namespace {

using analysis::CommunicationGraph;
using design::Backend;
using design::Directive;
using design::Placement;
using Read = std::function<Result<CommunicationGraph>(const std::string&)>;

/// A text and what it says.
struct Version {
  std::string text;
  CommunicationGraph graph;
};

Result<std::string> with_own(const Version& before, const OwnDesign& design) {
  if (analysis::find_function(before.graph.syntax, "cuco_setup") != nullptr) {
    CUCO_TRY_ASSIGN(SplitStandalone made,
                    split_with_own_collectives(before.graph, before.text, design));
    return std::move(made.program);
  }
  CUCO_TRY_ASSIGN(const Standalone made, with_own_collectives(before.text, design));
  return as_one_file(made, made.program);
}

Directive directive_of(Backend backend, int blocks, bool in_rounds) {
  Directive directive;
  directive.backend = backend;
  directive.placement = Placement::StreamSplit;
  if (in_rounds) directive.chunk = {design::ChunkKind::PerPeer, 0};
  if (backend == Backend::Host) return directive;
  // What a message brings is waited for where it is needed, not where it is sent.
  if (in_rounds) directive.placement = Placement::PutWaitSplit;
  directive.sync = design::SyncScope::PerPeerSignal;
  directive.issuer = {design::IssuerUnit::Block, blocks};
  directive.chunk = {design::ChunkKind::PerPeer, 0};
  return directive;
}

/// Makes the ideas of one program.
class Maker {
 public:
  Maker(const design::ProgramFacts& facts,
        const design::TopologyFacts& topology,
        design::NcclVersion nccl,
        const Read& read)
      : facts_(facts), topology_(topology), nccl_(nccl), read_(read) {}

  /// Lanes as they are, in a graph, and both with own collectives.
  void add_all(const CommunicationGraph& graph, std::string_view text, bool in_rounds) {
    auto laned = version(with_lanes(graph, text, {.in_rounds = in_rounds}));
    if (!laned) return discard("lanes", laned.error().message());
    auto recorded = version(replay_by_graph(laned->graph, laned->text));
    if (!recorded) discard("lanes in a CUDA graph", recorded.error().message());
    const Version& best = recorded ? *recorded : *laned;
    add(Backend::Host, 0, in_rounds, recorded.has_value(), best.text);
    // Kernels that communicate take SMs from those that compute beside them.
    for (const int blocks : {16, 8, 32})
      add_own(best, blocks, in_rounds, recorded.has_value());
    if (recorded) add(Backend::Host, 0, in_rounds, false, laned->text);
  }

  LaneIdeas made;

 private:
  Result<Version> version(Result<std::string> text) const {
    if (!text) return text.error();
    CUCO_TRY_ASSIGN(CommunicationGraph graph, read_(*text));
    return Version{*std::move(text), std::move(graph)};
  }

  void discard(std::string_view what, const std::string& reason) {
    made.discarded.push_back({std::string(what), reason});
  }

  [[nodiscard]] Backend own_backend() const {
    if (topology_.lsa_ranks >= topology_.ranks) return Backend::Lsa;
    return topology_.lsa_ranks > 1 ? Backend::Hybrid : Backend::Gin;
  }

  void add_own(const Version& before, int blocks, bool in_rounds, bool recorded) {
    // An SM has room for the blocks of several kernels.
    const OwnDesign design{.backend = own_backend(), .blocks = blocks, .share = 4};
    auto own = with_own(before, design);
    if (!own) return discard("lanes and own collectives", own.error().message());
    add(design.backend, blocks, in_rounds, recorded, *std::move(own));
  }

  void add(Backend backend, int blocks, bool in_rounds, bool recorded, std::string source) {
    const Directive directive = directive_of(backend, blocks, in_rounds);
    const auto reasons = design::violations(directive, facts_, topology_, nccl_);
    if (!reasons.empty()) return discard(design::to_text(directive), join(reasons, "; "));
    Idea idea{directive, "lanes", because(backend, blocks, in_rounds, recorded), std::move(source)};
    made.ideas.push_back(std::move(idea));
  }

  static std::string because(Backend backend, int blocks, bool in_rounds, bool recorded) {
    std::string text =
        "what nothing orders runs side by side: each launch and each exchange waits only for those "
        "that it has a hazard with";
    if (in_rounds) text += ", and the messages of a group leave one by one as they are ready";
    if (backend != Backend::Host)
      text += fmt::format("; own collectives of {} blocks leave the other SMs to the computation",
                          blocks);
    if (recorded) text += "; recorded in a CUDA graph, it costs the host one launch";
    return text;
  }

  const design::ProgramFacts& facts_;
  const design::TopologyFacts& topology_;
  design::NcclVersion nccl_;
  const Read& read_;
};

}  // namespace

LaneIdeas make_lane_ideas(const CommunicationGraph& graph,
                          std::string_view text,
                          const design::TopologyFacts& topology,
                          design::NcclVersion nccl,
                          const Read& read) {
  const auto facts = analysis::program_facts(graph);
  Maker maker(facts, topology, nccl, read);
  if (!facts.has_collective) {
    maker.made.discarded.push_back({"lanes", "the program does not communicate"});
    return std::move(maker.made);
  }
  // A group of several messages between two ranks may leave in parts.
  const bool groups = std::ranges::any_of(graph.operations, [](const analysis::Operation& one) {
    return one.kind == analysis::OperationKind::BeginGroup && one.phase == analysis::Phase::Run;
  });
  maker.add_all(graph, text, false);
  if (groups && !maker.made.ideas.empty()) maker.add_all(graph, text, true);
  // Breadth first: one of each kind before the numbers of blocks.
  std::ranges::stable_sort(maker.made.ideas, {}, [](const Idea& idea) {
    const int blocks = idea.directive.issuer.count;
    return blocks == 8 || blocks == 32 ? 1 : 0;
  });
  return std::move(maker.made);
}

}  // namespace cuco::expert::lanes
