// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/chunk_ideas.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/chunks/chunks.h"

namespace cuco::expert::chunks {
namespace {

using design::Backend;

constexpr std::string_view kFamily = "chunks from the producers";
constexpr std::string_view kInGraph = " in a CUDA graph";

/// A chunk with a flag of its own, of at most so many.
ChunkDesign chunked(Backend backend, int most, ChunkIssuer issuer) {
  return {.backend = backend, .knobs = {.most = most, .issuer = issuer}};
}

/// Nobody reads before all has come: few flags are enough, and one is the least.
std::vector<ChunkDesign> in_one_node(const design::TopologyFacts& topology) {
  std::vector<ChunkDesign> designs;
  const auto add = [&](Backend backend, int most, ChunkIssuer issuer) {
    designs.push_back(chunked(backend, most, issuer));
  };
  // Where all blocks run at once, one of an SM at a time is each block its own.
  for (const int most : {1, 2, 8})
    add(Backend::Lsa, most, ChunkIssuer::OneOfSm);
  if (topology.multimem) {
    for (const int most : {1, 2})
      add(Backend::Multimem, most, ChunkIssuer::OneOfSm);
  }
  add(Backend::Lsa, 2, ChunkIssuer::EachBlock);
  add(Backend::Lsa, 16, ChunkIssuer::LastBlock);
  return designs;
}

/// Chunks go through the network one by one: many small ones leave early, few large ones cost less
/// each.
std::vector<ChunkDesign> between_nodes(const design::TopologyFacts& topology) {
  std::vector<ChunkDesign> designs;
  const bool mixed = topology.lsa_ranks > 1;
  const Backend backend = mixed ? Backend::Hybrid : Backend::Gin;
  // Through the network who completes a chunk puts it: there is nothing to choose.
  for (const int most : {16, 8, 32})
    designs.push_back(
        chunked(backend, most, mixed ? ChunkIssuer::OneOfSm : ChunkIssuer::LastBlock));
  if (!mixed) {
    // On real GPUs each put costs microseconds besides its bytes.
    ChunkDesign large = designs.front();
    large.knobs.kib = 1024;
    designs.push_back(large);
    return designs;
  }
  for (const auto issuer : {ChunkIssuer::EachBlock, ChunkIssuer::LastBlock})
    designs.push_back(chunked(backend, 16, issuer));
  return designs;
}

/// The likeliest first.
std::vector<ChunkDesign> designs_for(const design::TopologyFacts& topology, bool recordable) {
  const bool one_node = topology.lsa_ranks >= topology.ranks;
  std::vector<ChunkDesign> designs = one_node ? in_one_node(topology) : between_nodes(topology);
  // Other work may stand between the kernel and its all-gather.
  ChunkDesign apart = designs.front();
  apart.knobs.producer_waits = false;
  designs.push_back(apart);
  if (!recordable) return designs;
  for (ChunkDesign recorded : {designs[0], designs[1], apart}) {
    recorded.recorded = true;
    designs.push_back(recorded);
  }
  return designs;
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

design::Directive directive_of(const ChunkDesign& design) {
  const bool one = design.knobs.most == 1;
  return {.backend = design.backend,
          .placement = design.knobs.producer_waits ? design::Placement::ProducerFused
                                                   : design::Placement::PutWaitSplit,
          .sync = one ? design::SyncScope::PerPeerSignal : design::SyncScope::PerChunkFlag,
          .issuer = issuer_of(design.knobs.issuer),
          .chunk = one ? design::Chunk{design::ChunkKind::PerTile, 0}
                       : design::Chunk{design::ChunkKind::Bytes,
                                       static_cast<std::uint64_t>(design.knobs.kib) << 10U}};
}

std::string reason_for(const ChunkDesign& design) {
  std::string text = fmt::format("what blocks write was seen and is a formula: {}, and ",
                                 explain(design.knobs.issuer));
  if (design.knobs.most == 1) {
    text += "the last one tells the peers, so that nothing else is counted";
  } else {
    text += fmt::format(
        "who completes a chunk, one of up to {} of at least {} KiB, announces it while other "
        "blocks compute",
        design.knobs.most, design.knobs.kib);
  }
  if (!design.knobs.producer_waits) text += "; a kernel in the collective's place waits";
  if (design.recorded) text += "; recorded once per buffer set, a run needs one launch by the host";
  return text;
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
  Ideas made;
  const auto facts = analysis::program_facts(graph);
  const bool recordable = analysis::find_function(graph.syntax, "cuco_setup") != nullptr;
  for (const ChunkDesign& design : designs_for(topology, recordable)) {
    const auto directive = directive_of(design);
    const auto reasons = design::violations(directive, facts, topology, nccl);
    if (!reasons.empty()) {
      made.discarded.push_back({design::to_text(directive), join(reasons, "; ")});
      continue;
    }
    auto chunked = gather_in_producers(graph, maps, text, design);
    const std::string family = fmt::format("{}{}", kFamily, design.recorded ? kInGraph : "");
    if (!chunked) {
      made.discarded.push_back({family, chunked.error().message()});
      // The same holds for all numbers of chunks, and for all graphs.
      return made;
    }
    made.ideas.push_back({directive, family, reason_for(design), std::move(chunked->program)});
  }
  return made;
}

}  // namespace cuco::expert::chunks
