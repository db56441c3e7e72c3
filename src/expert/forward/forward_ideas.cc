// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward_ideas.h"

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/forward/forward.h"
#include "expert/host_designs.h"

namespace cuco::expert::forward {
namespace {

constexpr std::string_view kFamily = "sends from the producers";

const design::Directive kDirective{.backend = design::Backend::Lsa,
                                   .placement = design::Placement::ProducerFused,
                                   .sync = design::SyncScope::PerPeerSignal,
                                   .issuer = {design::IssuerUnit::Thread, 0},
                                   .chunk = {design::ChunkKind::PerTile, 0}};

using Reader = std::function<Result<analysis::CommunicationGraph>(const std::string&)>;

Result<std::string> forwarded_in_graph(const analysis::CommunicationGraph& graph,
                                       std::string_view text,
                                       const Reader& read) {
  CUCO_TRY_ASSIGN(const std::string recorded, replay_by_graph(graph, text));
  CUCO_TRY_ASSIGN(const analysis::CommunicationGraph anew, read(recorded));
  CUCO_TRY_ASSIGN(Forwarded made, forward_sends(anew, recorded));
  return std::move(made.program);
}

}  // namespace

Ideas make_forward_ideas(const analysis::CommunicationGraph& graph,
                         std::string_view text,
                         const design::TopologyFacts& topology,
                         design::NcclVersion nccl,
                         const Reader& read) {
  Ideas made;
  const auto refuse = [&](std::string_view design, std::string reason) {
    made.discarded.push_back({std::string(design), std::move(reason)});
  };
  if (topology.lsa_ranks < topology.ranks) {
    refuse(kFamily, "a store reaches only ranks of the same node");
    return made;
  }
  const auto reasons =
      design::violations(kDirective, analysis::program_facts(graph), topology, nccl);
  if (!reasons.empty()) {
    refuse(kFamily, join(reasons, "; "));
    return made;
  }
  auto forwarded = forward_sends(graph, text);
  if (!forwarded) {
    refuse(kFamily, forwarded.error().message());
    return made;
  }
  for (const std::string& refused : forwarded->refused)
    refuse(kFamily, refused);
  Idea idea{kDirective, std::string(kFamily),
            fmt::format("{} of the exchanges are done by the kernels that make the data: each "
                        "store goes straight to the receivers while the others compute, and one "
                        "signal per peer ends it",
                        forwarded->sites),
            std::move(forwarded->program)};
  if (analysis::find_function(graph.syntax, "cuco_setup") != nullptr) {
    auto recorded = forwarded_in_graph(graph, text, read);
    if (recorded) {
      made.ideas.push_back({kDirective, "sends from the producers in a CUDA graph",
                            "producers that send what they store are kernels like others: recorded "
                            "once per buffer set, a run needs one launch by the host",
                            *std::move(recorded), code_hash(idea)});
    } else {
      refuse("sends from the producers in a CUDA graph", recorded.error().message());
    }
  }
  made.ideas.insert(made.ideas.begin(), std::move(idea));
  return made;
}

}  // namespace cuco::expert::forward
