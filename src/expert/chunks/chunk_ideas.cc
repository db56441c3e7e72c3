// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/chunk_ideas.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/chunks/chunks.h"
#include "expert/host_designs.h"

namespace cuco::expert::chunks {
namespace {

using design::Backend;

struct Point {
  Backend backend;
  ChunkKnobs knobs;
};

std::vector<Point> points_for(const design::TopologyFacts& topology) {
  const bool one_node = topology.lsa_ranks >= topology.ranks;
  const Backend usual = one_node                 ? Backend::Lsa
                        : topology.lsa_ranks > 1 ? Backend::Hybrid
                                                 : Backend::Gin;
  std::vector<Point> points;
  // Many small chunks leave early, few large ones cost less each.
  for (const auto& [kib, most] : {std::pair(16, 16), std::pair(8, 32), std::pair(32, 8)}) {
    for (const auto issuer :
         {ChunkIssuer::OneOfSm, ChunkIssuer::EachBlock, ChunkIssuer::LastBlock}) {
      // Through the network who completes a chunk puts it: there is nothing to choose.
      if (usual == Backend::Gin && issuer != ChunkIssuer::LastBlock) continue;
      points.push_back({usual, {kib, most, issuer}});
      if (one_node && topology.multimem && issuer != ChunkIssuer::LastBlock)
        points.push_back({Backend::Multimem, {kib, most, issuer}});
    }
  }
  // Other work may stand between the kernel and its all-gather.
  Point apart = points.front();
  apart.knobs.producer_waits = false;
  points.push_back(apart);
  return points;
}

design::Issuer issuer_of(ChunkIssuer issuer) {
  switch (issuer) {
    case ChunkIssuer::EachBlock:
      return {design::IssuerUnit::Thread, 0};
    case ChunkIssuer::LastBlock:
      return {design::IssuerUnit::Block, 0};
    case ChunkIssuer::OneOfSm:
      return {design::IssuerUnit::Block, 1};
  }
  return {};
}

std::string_view explain(ChunkIssuer issuer) {
  switch (issuer) {
    case ChunkIssuer::EachBlock:
      return "each block stores its tile to the peers";
    case ChunkIssuer::LastBlock:
      return "the last block of a chunk sends it";
    case ChunkIssuer::OneOfSm:
      return "one block of an SM at a time stores tiles, while its others compute";
  }
  return {};
}

design::Directive directive_of(const Point& point) {
  return {.backend = point.backend,
          .placement = point.knobs.producer_waits ? design::Placement::ProducerFused
                                                  : design::Placement::PutWaitSplit,
          .sync = design::SyncScope::PerChunkFlag,
          .issuer = issuer_of(point.knobs.issuer),
          .chunk = {design::ChunkKind::Bytes, static_cast<std::uint64_t>(point.knobs.kib) << 10U}};
}

std::string reason_for(const Point& point) {
  return fmt::format(
      "what blocks write was seen and is a formula: {}, and who completes a chunk, one of up to {} "
      "of at least {} KiB, announces it while other blocks compute",
      explain(point.knobs.issuer), point.knobs.most, point.knobs.kib);
}

}  // namespace

bool has_gather_to_chunk(const analysis::CommunicationGraph& graph) {
  return std::ranges::any_of(graph.sites, [](const analysis::Site& site) {
    return site.pattern == analysis::Pattern::AllGather && !site.producers.empty();
  });
}

Ideas make_chunk_ideas(
    const analysis::CommunicationGraph& graph,
    std::span<const analysis::ObservedMap> maps,
    std::string_view text,
    const design::TopologyFacts& topology,
    design::NcclVersion nccl,
    const std::function<Result<analysis::CommunicationGraph>(const std::string&)>& /*read*/) {
  constexpr std::string_view kFamily = "chunks from the producers";
  Ideas made;
  const auto facts = analysis::program_facts(graph);
  for (const Point& point : points_for(topology)) {
    const auto directive = directive_of(point);
    const auto reasons = design::violations(directive, facts, topology, nccl);
    if (!reasons.empty()) {
      made.discarded.push_back({design::to_text(directive), join(reasons, "; ")});
      continue;
    }
    auto chunked = gather_in_producers(graph, maps, text, point.backend, point.knobs);
    if (!chunked) {
      // The same holds for all sizes.
      made.discarded.push_back({std::string(kFamily), chunked.error().message()});
      return made;
    }
    made.ideas.push_back(
        {directive, std::string(kFamily), reason_for(point), std::move(chunked->program)});
  }
  return made;
}

}  // namespace cuco::expert::chunks
