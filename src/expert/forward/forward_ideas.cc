// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward_ideas.h"

#include <set>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/forward/forward.h"

namespace cuco::expert::forward {
namespace {

constexpr int kBlocks = 32;        // of an exchange that nothing runs beside
constexpr int kBlocksBeside = 16;  // of one that takes SMs from kernels that compute

const design::Directive kByProducers{.backend = design::Backend::Lsa,
                                     .placement = design::Placement::ProducerFused,
                                     .sync = design::SyncScope::PerPeerSignal,
                                     .issuer = {design::IssuerUnit::Thread, 0},
                                     .chunk = {design::ChunkKind::PerTile, 0}};

design::Directive directive_of(const ForwardDesign& design, const Forwarded& made) {
  if (made.sites > 0) return kByProducers;
  design::Directive directive = kByProducers;
  directive.placement =
      design.laned ? design::Placement::StreamSplit : design::Placement::HostOrdered;
  directive.issuer = {design::IssuerUnit::Block, design.blocks};
  directive.chunk = {design::ChunkKind::PerPeer, 0};
  return directive;
}

std::string family_of(const ForwardDesign& design) {
  std::string name = design.by_producers ? "sends from the producers" : "exchanges without a copy";
  if (design.leaves) name += " alone";
  if (design.laned) name += " on lanes";
  if (design.recorded) name += " in a CUDA graph";
  return name;
}

std::string because(const ForwardDesign& design, const Forwarded& made) {
  std::vector<std::string> reasons;
  if (made.sites > 0) {
    reasons.push_back(
        fmt::format("{} of the exchanges are done by the kernels that make the data: each store "
                    "goes straight to the receivers while the others compute, and one signal per "
                    "peer ends it",
                    made.sites));
  }
  if (made.leaving > 0) {
    reasons.push_back(
        fmt::format("for {} of them nothing stays in the memory that is sent, since nobody here "
                    "reads it",
                    made.leaving));
  }
  if (made.straight > 0) {
    reasons.push_back(
        fmt::format("{} of the exchanges store straight into the receivers' memory, with up to {} "
                    "blocks and no buffers between",
                    made.straight, design.blocks));
  }
  if (design.laned)
    reasons.emplace_back("what nothing orders, kernels that send among it, runs side by side");
  if (design.recorded)
    reasons.emplace_back("recorded once per buffer set, a run needs one launch by the host");
  return join(reasons, "; ");
}

/// The likeliest first.
std::vector<ForwardDesign> designs(bool recordable) {
  std::vector<ForwardDesign> list = {{.blocks = kBlocks}};
  if (recordable) list.push_back({.recorded = true, .blocks = kBlocks});
  list.push_back({.leaves = true, .recorded = recordable, .blocks = kBlocks});
  const auto on_lanes = [&](ForwardDesign design, int blocks) {
    design.straight = design.laned = true;
    design.recorded = recordable;
    design.blocks = blocks;
    list.push_back(design);
  };
  on_lanes({.leaves = true}, kBlocksBeside);
  on_lanes({}, kBlocksBeside);
  on_lanes({.by_producers = false}, kBlocksBeside);
  list.push_back(
      {.by_producers = false, .straight = true, .recorded = recordable, .blocks = kBlocks});
  for (const int blocks : {2 * kBlocksBeside, kBlocksBeside / 2}) {
    on_lanes({}, blocks);
    on_lanes({.by_producers = false}, blocks);
  }
  return list;
}

}  // namespace

Ideas make_forward_ideas(const analysis::CommunicationGraph& graph,
                         std::string_view text,
                         const design::TopologyFacts& topology,
                         design::NcclVersion nccl) {
  Ideas made;
  const auto refuse = [&](const std::string& design, std::string reason) {
    made.discarded.push_back({design, std::move(reason)});
  };
  if (topology.lsa_ranks < topology.ranks) {
    refuse(family_of({}), "a store reaches only ranks of the same node");
    return made;
  }
  const auto facts = analysis::program_facts(graph);
  const bool recordable = analysis::find_function(graph.syntax, "cuco_setup") != nullptr;
  std::set<std::string> codes, refused;
  for (const ForwardDesign& design : designs(recordable)) {
    auto forwarded = forward_sends(graph, text, design);
    const std::string family = family_of(design);
    if (!forwarded) {
      if (refused.insert(family).second) refuse(family, forwarded.error().message());
      continue;
    }
    for (const std::string& reason : forwarded->refused) {
      if (refused.insert(reason).second) refuse(family, reason);
    }
    if (design.leaves && forwarded->leaving == 0) continue;
    // How many blocks an exchange has does not matter where kernels do them all.
    if (design.blocks != kBlocksBeside && design.laned && forwarded->straight == 0) continue;
    const auto directive = directive_of(design, *forwarded);
    if (const auto broken = design::violations(directive, facts, topology, nccl); !broken.empty()) {
      refuse(family, join(broken, "; "));
      continue;
    }
    std::string reason = because(design, *forwarded);
    Idea idea{directive, family, std::move(reason), std::move(forwarded->program)};
    if (!codes.insert(code_hash(idea)).second) continue;
    if (design.recorded && !design.laned && design.by_producers && !made.ideas.empty())
      idea.continues = code_hash(made.ideas.front());
    made.ideas.push_back(std::move(idea));
  }
  return made;
}

}  // namespace cuco::expert::forward
