// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward_ideas.h"

#include <optional>
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
  if (!design.kept_from_producers.empty())
    name = "some exchanges by the producers, some without a copy";
  if (design.leaves && design.kept_from_producers.empty()) name += " alone";
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
  if (recordable) list.push_back({.straight = true, .recorded = true, .blocks = kBlocks});
  list.push_back({.leaves = true, .straight = true, .recorded = recordable, .blocks = kBlocks});
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

/// What one exchange gains another may lose: where producers can do several, one of them does it
/// alone, or is left out. So there are as many as exchanges twice, however these could be combined.
std::vector<ForwardDesign> mixed_designs(const std::vector<std::set<std::size_t>>& by_producers,
                                         bool recordable) {
  constexpr std::size_t kMostExchanges = 6;
  std::vector<ForwardDesign> list;
  const std::size_t exchanges = by_producers.size();
  if (exchanges < 2 || exchanges > kMostExchanges) return list;
  const auto without = [&](const auto& is_kept) {
    ForwardDesign design{
        .leaves = true, .straight = true, .recorded = recordable, .blocks = kBlocks};
    for (std::size_t i = 0; i < exchanges; ++i) {
      if (is_kept(i))
        design.kept_from_producers.insert(by_producers[i].begin(), by_producers[i].end());
    }
    list.push_back(std::move(design));
  };
  for (std::size_t one = 0; one < exchanges; ++one)
    without([&](std::size_t i) { return i != one; });
  for (std::size_t one = 0; exchanges > 2 && one < exchanges; ++one)
    without([&](std::size_t i) { return i == one; });
  return list;
}

/// Makes ideas of designs, one after the other.
class IdeaMaker {
 public:
  IdeaMaker(const analysis::CommunicationGraph& graph,
            std::string_view text,
            const design::TopologyFacts& topology,
            design::NcclVersion nccl)
      : graph_(graph), text_(text), topology_(topology), nccl_(nccl) {}

  void refuse(const std::string& design, std::string reason) {
    if (refused_.insert(reason).second) made_.discarded.push_back({design, std::move(reason)});
  }

  /// What came of it, also where it is no idea of its own.
  std::optional<Forwarded> add(const ForwardDesign& design) {
    auto forwarded = forward_sends(graph_, text_, design);
    const std::string family = family_of(design);
    if (!forwarded) {
      refuse(family, forwarded.error().message());
      return std::nullopt;
    }
    for (const std::string& reason : forwarded->refused)
      refuse(family, reason);
    if (is_worth_it(design, *forwarded)) add(design, family, *forwarded);
    return *std::move(forwarded);
  }

  Ideas take() { return std::move(made_); }

 private:
  static bool is_worth_it(const ForwardDesign& design, const Forwarded& forwarded) {
    if (design.leaves && design.kept_from_producers.empty() && forwarded.leaving == 0) return false;
    if (design.by_producers && forwarded.sites == 0) return false;
    // How many blocks an exchange has does not matter where kernels do them all.
    return design.blocks == kBlocksBeside || !design.laned || forwarded.straight > 0;
  }

  void add(const ForwardDesign& design, const std::string& family, Forwarded& forwarded) {
    const auto directive = directive_of(design, forwarded);
    const auto facts = analysis::program_facts(graph_);
    if (const auto broken = design::violations(directive, facts, topology_, nccl_);
        !broken.empty()) {
      refuse(family, join(broken, "; "));
      return;
    }
    std::string reason = because(design, forwarded);
    Idea idea{directive, family, std::move(reason), forwarded.program};
    if (!codes_.insert(code_hash(idea)).second) return;
    if (design.recorded && !design.laned && design.by_producers && !made_.ideas.empty())
      idea.continues = code_hash(made_.ideas.front());
    made_.ideas.push_back(std::move(idea));
  }

  const analysis::CommunicationGraph& graph_;
  std::string_view text_;
  const design::TopologyFacts& topology_;
  design::NcclVersion nccl_;
  Ideas made_;
  std::set<std::string> codes_, refused_;
};

}  // namespace

Ideas make_forward_ideas(const analysis::CommunicationGraph& graph,
                         std::string_view text,
                         const design::TopologyFacts& topology,
                         design::NcclVersion nccl) {
  IdeaMaker maker(graph, text, topology, nccl);
  if (topology.lsa_ranks < topology.ranks) {
    maker.refuse(family_of({}), "a store reaches only ranks of the same node");
    return maker.take();
  }
  const bool recordable = analysis::find_function(graph.syntax, "cuco_setup") != nullptr;
  std::vector<std::set<std::size_t>> by_producers;
  for (const ForwardDesign& design : designs(recordable)) {
    const auto made = maker.add(design);
    if (made && by_producers.empty()) by_producers = made->by_producers;
  }
  for (const ForwardDesign& design : mixed_designs(by_producers, recordable))
    (void)maker.add(design);
  return maker.take();
}

}  // namespace cuco::expert::forward
