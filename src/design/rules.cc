// SPDX-License-Identifier: Apache-2.0
#include "design/rules.h"

#include <fmt/format.h>

namespace cuco::design {
namespace {

constexpr int kFirstDeviceApi = 22800;  // LSA, multimem
constexpr int kFirstGin = 22807;

bool uses_lsa(Backend backend) {
  return backend == Backend::Lsa || backend == Backend::Multimem;
}

/// Can the machine do it: version of NCCL, who shares memory with whom, switch, NIC.
void check_backend(const Directive& directive,
                   const TopologyFacts& topology,
                   NcclVersion nccl,
                   std::vector<std::string>& reasons) {
  if (directive.backend == Backend::Host) return;
  if (nccl.code < kFirstDeviceApi) {
    reasons.push_back(fmt::format("NCCL {} has no device API (needs 2.28)", nccl.code));
  }
  if (uses_lsa(directive.backend) && topology.lsa_ranks < topology.ranks) {
    reasons.push_back(fmt::format("{} reaches {} of {} ranks here: the others are on other nodes",
                                  name(directive.backend), topology.lsa_ranks, topology.ranks));
  }
  if (directive.backend == Backend::Multimem && !topology.multimem) {
    reasons.emplace_back("multimem needs a switch with multicast; this topology has none");
  }
  if (directive.backend == Backend::Gin && !topology.gin) {
    reasons.emplace_back("GIN needs a NIC that the GPU can drive; this topology has none");
  }
  if (directive.backend == Backend::Gin && nccl.code < kFirstGin) {
    reasons.push_back(fmt::format("NCCL {} has no GIN (needs 2.28.7)", nccl.code));
  }
}

/// Does the program have a kernel that could do it?
void check_placement(const Directive& directive,
                     const ProgramFacts& program,
                     std::vector<std::string>& reasons) {
  const bool host = directive.backend == Backend::Host;
  const bool in_kernel = directive.placement == Placement::ProducerFused ||
                         directive.placement == Placement::ConsumerFused ||
                         directive.placement == Placement::Persistent ||
                         directive.placement == Placement::PutWaitSplit;
  if (host && in_kernel) {
    reasons.push_back(fmt::format("{} needs communication inside a kernel, not a host collective",
                                  name(directive.placement)));
  }
  if (directive.placement == Placement::ProducerFused && !program.has_producer) {
    reasons.emplace_back("no kernel of this program writes the buffer that is sent");
  }
  if (directive.placement == Placement::ConsumerFused && !program.has_consumer) {
    reasons.emplace_back("no kernel of this program reads the buffer that is received");
  }
}

/// Does the wait order anything? Each rule excludes a design that would hang or read too early.
void check_sync(const Directive& directive, std::vector<std::string>& reasons) {
  if (directive.backend == Backend::Host && directive.sync != SyncScope::GlobalBarrier) {
    reasons.push_back(fmt::format("a host collective completes for all ranks at once; it has no {}",
                                  name(directive.sync)));
  }
  if (directive.sync == SyncScope::IntraBlock && directive.placement != Placement::Persistent &&
      directive.placement != Placement::ConsumerFused) {
    reasons.emplace_back(
        "intra-block synchronisation orders no peer unless the waiting block runs "
        "with the sender (persistent or consumer-fused)");
  }
  if (directive.sync == SyncScope::PerChunkFlag && directive.chunk.kind == ChunkKind::Whole) {
    reasons.emplace_back("a per-chunk flag needs more than one chunk");
  }
}

/// Sizes that are not known (0) exclude nothing.
void check_chunk(const Directive& directive,
                 const ProgramFacts& program,
                 std::vector<std::string>& reasons) {
  const auto& chunk = directive.chunk;
  if (chunk.kind != ChunkKind::Bytes) return;
  if (chunk.bytes == 0) {
    reasons.emplace_back("chunk size must be above 0");
    return;
  }
  if (program.bytes_per_rank != 0 && chunk.bytes > program.bytes_per_rank) {
    reasons.push_back(fmt::format("chunk of {} bytes is larger than the {} bytes a rank sends",
                                  chunk.bytes, program.bytes_per_rank));
  }
  if (program.element_bytes != 0 && chunk.bytes % program.element_bytes != 0) {
    reasons.push_back(fmt::format("chunk of {} bytes splits an element of {} bytes", chunk.bytes,
                                  program.element_bytes));
  }
}

}  // namespace

std::vector<std::string> violations(const Directive& directive,
                                    const ProgramFacts& program,
                                    const TopologyFacts& topology,
                                    NcclVersion nccl) {
  std::vector<std::string> reasons;
  if (!program.has_collective) {
    reasons.emplace_back("the program does not communicate");
    return reasons;
  }
  if (directive.backend != Backend::Host && !program.symmetric_buffers) {
    reasons.emplace_back("the buffers cannot be registered as windows (not from ncclMemAlloc)");
  }
  check_backend(directive, topology, nccl, reasons);
  check_placement(directive, program, reasons);
  check_sync(directive, reasons);
  check_chunk(directive, program, reasons);
  return reasons;
}

}  // namespace cuco::design
