// SPDX-License-Identifier: Apache-2.0
#include "expert/expert.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/designs.h"
#include "expert/host_designs.h"
#include "program/tokens.h"

namespace cuco::expert {
namespace {
using design::Backend;
using design::Chunk;
using design::ChunkKind;
using design::Directive;
using design::IssuerUnit;
using design::Placement;
using design::SyncScope;

/// A family of designs: one rewrite, and the knob settings worth trying, the likeliest first.
struct Family {
  std::string name;
  std::string because;
  std::vector<int> settings;
  std::function<Directive(int)> directive;
  std::function<Result<std::string>(const GatherSite&, int)> rewrite;
};

Chunk kibibytes(int kib) {
  return {ChunkKind::Bytes, static_cast<std::uint64_t>(kib) << 10U};
}

std::vector<Family> families() {
  constexpr int kSendBlocks = 16;
  return {
      {"LSA kernel after the producer",
       "a separate kernel after the producer stores to the peers: no host step and no staging "
       "buffers",
       {16, 8, 32},
       [](int blocks) {
         return Directive{Backend::Lsa,
                          Placement::HostOrdered,
                          SyncScope::GlobalBarrier,
                          {IssuerUnit::Block, blocks},
                          {ChunkKind::Whole, 0}};
       },
       [](const GatherSite& site, int blocks) { return gather_after_producer(site, blocks); }},
      {"LSA chunks on a second stream",
       "rows are final long before the grid ends: a second stream sends finished block rows while "
       "the next ones are computed",
       {256, 128, 512},
       [](int kib) {
         return Directive{Backend::Lsa,
                          Placement::StreamSplit,
                          SyncScope::GlobalBarrier,
                          {IssuerUnit::Block, kSendBlocks},
                          kibibytes(kib)};
       },
       [](const GatherSite& site, int kib) {
         return gather_beside_producer(site, kib, kSendBlocks);
       }},
      {"LSA tiles from the producer",
       "a tile is final when its block ends: store it to all ranks straight from registers, then "
       "signal each peer once when all tiles are stored",
       {0},
       [](int) {
         return Directive{Backend::Lsa,
                          Placement::ProducerFused,
                          SyncScope::PerPeerSignal,
                          {IssuerUnit::Thread, 0},
                          {ChunkKind::PerTile, 0}};
       },
       [](const GatherSite& site, int) { return gather_tiles_in_producer(site); }},
      {"LSA chunks from the producer",
       "the block that completes a chunk of block rows sends it with wide stores and sets its "
       "flag, while the other blocks keep computing",
       {256, 128, 512},
       [](int kib) {
         return Directive{Backend::Lsa,
                          Placement::ProducerFused,
                          SyncScope::PerChunkFlag,
                          {IssuerUnit::Block, 0},
                          kibibytes(kib)};
       },
       [](const GatherSite& site, int kib) { return gather_chunks_in_producer(site, kib); }},
  };
}

/// For programs without an all-gather that the templates could replace.
void add_host_ideas(const analysis::CommunicationGraph& graph, std::string_view text, Ideas* made) {
  const auto add = [&](const std::string& family, const std::string& because,
                       Result<std::string> source) {
    if (!source) {
      made->discarded.push_back({family, source.error().message()});
    } else {
      made->ideas.push_back({Directive{}, family, family + ": " + because, *std::move(source)});
    }
  };
  add("CUDA graph replay",
      "every run submits the same work to the GPU: recorded once per buffer set, it needs "
      "one host launch instead of many",
      replay_by_graph(graph, text));
  if (analysis::program_facts(graph).has_collective) {
    // Its own collectives come first, and the moves start from the seed.
    made->discarded.push_back({"kernel", "the program communicates"});
    return;
  }
  made->kernels = std::make_shared<kernels::Moves>(graph, std::string(text));
  for (const auto& refusal : made->kernels->refusals())
    made->discarded.push_back({"kernel", refusal});
}

candidate::Number parent_of(const Idea& idea, const candidate::History& history) {
  if (idea.continues.empty()) return candidate::kSeed;
  for (const candidate::Judged& judged : history) {
    if (judged.candidate.code_hash == idea.continues) return judged.candidate.number;
  }
  return candidate::kSeed;
}

}  // namespace

Ideas make_ideas(const analysis::CommunicationGraph& graph,
                 std::string_view text,
                 const design::TopologyFacts& topology,
                 design::NcclVersion nccl) {
  Ideas made;
  const auto site = find_gather_site(graph, text);
  if (!site) {
    made.discarded.push_back({"designs for an all-gather", site.error().message()});
    add_host_ideas(graph, text, &made);
    return made;
  }
  const auto facts = analysis::program_facts(graph);
  const auto all = families();
  std::size_t most = 0;
  for (const auto& family : all)
    most = std::max(most, family.settings.size());
  // Breadth first: every family is tried once before any knob is turned.
  for (std::size_t round = 0; round < most; ++round) {
    for (const auto& family : all) {
      if (round >= family.settings.size()) continue;
      const auto directive = family.directive(family.settings[round]);
      const auto reasons = design::violations(directive, facts, topology, nccl);
      if (!reasons.empty()) {
        made.discarded.push_back({design::to_text(directive), join(reasons, "; ")});
        continue;
      }
      auto source = family.rewrite(*site, family.settings[round]);
      if (!source) {
        made.discarded.push_back({design::to_text(directive), source.error().message()});
        continue;
      }
      made.ideas.push_back({directive, family.name, family.because, *std::move(source)});
    }
  }
  return made;
}

Result<FastPathIdeas> make_fast_path_ideas(const analysis::CommunicationGraph& graph,
                                           std::string_view text) {
  CUCO_TRY_ASSIGN(const GatherSite site, find_gather_site(graph, text));
  FastPathIdeas ideas;
  CUCO_TRY_ASSIGN(ideas.infrastructure.source, infrastructure_only(site));
  ideas.infrastructure.because =
      "add windows and a device communicator first, still host-driven: if this fails, the new "
      "communication is not the cause";
  const auto all = families();
  const auto& corner = all.front();
  Idea replacement{corner.directive(corner.settings.front()), corner.name, corner.because};
  CUCO_TRY_ASSIGN(replacement.source, corner.rewrite(site, corner.settings.front()));
  replacement.continues = code_hash(ideas.infrastructure);
  ideas.replacements.push_back(std::move(replacement));
  return ideas;
}

std::string code_hash(const Idea& idea) {
  return program::normalised_hash(program::single_file("program.cu", idea.source));
}

Result<std::optional<candidate::ProposerAnswer>> Expert::propose(const candidate::Task& task,
                                                                 candidate::ExchangeLog& /*log*/) {
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
