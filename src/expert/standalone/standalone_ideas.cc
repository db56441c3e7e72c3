// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone_ideas.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/host_designs.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"

namespace cuco::expert {
namespace {

using design::Backend;
using design::TopologyFacts;

/// Both texts as one file each.
struct Version {
  std::string infrastructure;
  std::string program;
};

Result<Version> version_of(const analysis::CommunicationGraph& graph,
                           std::string_view text,
                           const OwnDesign& design) {
  if (analysis::find_function(graph.syntax, "cuco_setup") != nullptr) {
    CUCO_TRY_ASSIGN(SplitStandalone made, split_with_own_collectives(graph, text, design));
    return Version{std::move(made.infrastructure), std::move(made.program)};
  }
  CUCO_TRY_ASSIGN(const Standalone made, with_own_collectives(text, design));
  return Version{as_one_file(made, made.infrastructure), as_one_file(made, made.program)};
}

/// All that there is code for. A hybrid is for several nodes: in one it is LSA that asks for more.
std::vector<OwnDesign> designs_for(const Uses& uses, const TopologyFacts& topology) {
  const bool one_node = topology.lsa_ranks >= topology.ranks;
  const Backend usual = one_node                 ? Backend::Lsa
                        : topology.lsa_ranks > 1 ? Backend::Hybrid
                                                 : Backend::Gin;
  std::vector<OwnDesign> designs{{.backend = usual}, {.backend = Backend::Multimem}};
  if (uses.collective(emit::Collective::AllReduce)) {
    designs.push_back({.backend = usual, .shots = emit::Shots::One});
    designs.push_back({.backend = usual, .shots = emit::Shots::Two});
  }
  designs.push_back({.backend = usual, .blocks = 16, .box_kib = 64});
  designs.push_back({.backend = usual, .blocks = 64, .box_kib = 16});
  if (usual != Backend::Gin) designs.push_back({.backend = Backend::Gin});
  return designs;
}

design::Directive directive_of(const OwnDesign& design) {
  return {.backend = design.backend,
          .placement = design::Placement::HostOrdered,
          .sync = design::SyncScope::PerPeerSignal,
          .issuer = {design::IssuerUnit::Block, design.blocks},
          .chunk = {design::ChunkKind::PerPeer, 0}};
}

std::string reason_for(const OwnDesign& design) {
  std::string how;
  if (design.shots)
    how = *design.shots == emit::Shots::One ? ", sums in one round" : ", sums in two rounds";
  return fmt::format(
      "every collective becomes a kernel of the program over {}, {} KiB a block and round{}: no "
      "kernel of NCCL's and no step of the host's is left",
      design::name(design.backend), design.box_kib, how);
}

}  // namespace

StandaloneIdeas make_standalone_ideas(const analysis::CommunicationGraph& graph,
                                      std::string_view text,
                                      const TopologyFacts& topology,
                                      design::NcclVersion nccl) {
  constexpr std::string_view kFamily = "own collectives";
  StandaloneIdeas made;
  const auto uses = uses_of(text);
  if (!uses) {
    made.discarded.push_back({std::string(kFamily), uses.error().message()});
    return made;
  }
  const auto facts = analysis::program_facts(graph);
  std::set<std::string> known;
  for (const OwnDesign& design : designs_for(*uses, topology)) {
    const auto directive = directive_of(design);
    const std::string name = fmt::format("{}: {}", kFamily, design::to_text(directive));
    const auto reasons = design::violations(directive, facts, topology, nccl);
    const auto version = version_of(graph, text, design);
    if (!reasons.empty() || !version) {
      made.discarded.push_back(
          {name, reasons.empty() ? version.error().message() : join(reasons, "; ")});
      continue;
    }
    Idea idea{directive, std::string(kFamily), reason_for(design), version->program};
    if (!known.insert(code_hash(idea)).second) continue;
    if (!made.fast_path) {
      made.fast_path.emplace();
      made.fast_path->infrastructure = {
          {},
          std::string(kFamily),
          "open the communicator for the device first, still host-driven: if this fails, the new "
          "communication is not the cause",
          version->infrastructure};
    }
    idea.continues = code_hash(made.fast_path->infrastructure);
    made.fast_path->replacements.push_back(std::move(idea));
  }
  return made;
}

Result<Idea> replayed_by_graph(
    const analysis::CommunicationGraph& graph,
    std::string_view text,
    const Idea& before,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& read) {
  CUCO_TRY_ASSIGN(const std::string recorded, replay_by_graph(graph, text));
  CUCO_TRY_ASSIGN(const analysis::CommunicationGraph anew, read(recorded));
  CUCO_TRY_ASSIGN(const Version version,
                  version_of(anew, recorded, {.backend = before.directive.backend}));
  return Idea{
      before.directive, "own collectives in a CUDA graph",
      "own collectives are kernels like others: recorded once per buffer set with all that a "
      "run launches, they need one launch by the host",
      version.program, code_hash(before)};
}

}  // namespace cuco::expert
