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

/// How many of the device's ways to communicate there are; a hybrid needs two.
int device_backends(const TopologyFacts& topology, NcclVersion nccl) {
  const bool device = nccl.code >= kFirstDeviceApi;
  const int lsa = device && topology.lsa_ranks > 1 ? 1 : 0;
  const int gin = topology.gin && nccl.code >= kFirstGin ? 1 : 0;
  const int multimem = device && topology.multimem && topology.lsa_ranks > 1 ? 1 : 0;
  return lsa + gin + multimem;
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
  if (directive.backend == Backend::Hybrid && device_backends(topology, nccl) < 2) {
    reasons.emplace_back("a hybrid joins two of LSA, GIN and multimem; fewer are here");
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
  if (directive.backend == Backend::Multimem && !program.sends_to_all) {
    reasons.emplace_back("multimem reaches all ranks at once; here data goes from one to another");
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

/// Is there somebody to issue, and something for each?
void check_issuer(const Directive& directive, std::vector<std::string>& reasons) {
  const auto& issuer = directive.issuer;
  if (directive.backend == Backend::Host &&
      (issuer.unit != IssuerUnit::Block || issuer.count != 0)) {
    reasons.push_back(
        fmt::format("the host issues its collectives, no {} does", name(issuer.unit)));
  }
  const bool one_put =
      directive.backend == Backend::Gin && directive.chunk.kind == ChunkKind::Whole;
  if (one_put && issuer.count > 1) {
    reasons.emplace_back("one put sends the whole buffer: further issuers have nothing to send");
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
    // Its kernels can still be made better: that is the host's corner of the space.
    Directive expected;
    expected.kernel = directive.kernel;
    if (!(directive == expected)) {
      reasons.emplace_back("the program does not communicate; only its kernels can change");
    }
    return reasons;
  }
  check_backend(directive, topology, nccl, reasons);
  check_placement(directive, program, reasons);
  check_sync(directive, reasons);
  check_issuer(directive, reasons);
  check_chunk(directive, program, reasons);
  return reasons;
}

std::vector<std::string> costs(const Directive& directive,
                               const ProgramFacts& program,
                               const TopologyFacts& topology) {
  std::vector<std::string> notes;
  const auto backend = directive.backend;
  if (backend == Backend::Host) return notes;
  if (!program.symmetric_buffers) {
    notes.emplace_back("what is communicated moves to ncclMemAlloc and becomes a window");
  }
  if (backend == Backend::Lsa || backend == Backend::Multimem) {
    notes.emplace_back("the stores occupy SMs while they travel");
  }
  if (backend == Backend::Gin) notes.emplace_back("the NIC moves the bytes: SMs stay free");
  if (backend == Backend::Lsa && program.reduces) {
    notes.push_back(fmt::format("each rank loads from {} peers to reduce", topology.ranks - 1));
  }
  if (directive.sync == SyncScope::GlobalBarrier) {
    notes.emplace_back("every rank waits for the slowest, a round trip each time");
  }
  if (directive.sync == SyncScope::PerChunkFlag) {
    notes.emplace_back("a flag per chunk and sender, and somebody who counts its blocks");
  }
  if (directive.placement == Placement::Persistent ||
      (directive.placement == Placement::ConsumerFused && backend != Backend::Gin)) {
    notes.emplace_back("the whole grid must be resident at once");
  }
  if (backend == Backend::Gin && directive.issuer.unit == IssuerUnit::Thread &&
      directive.issuer.count == 0) {
    notes.emplace_back("a put per thread: many small entries in the NIC's queue");
  }
  return notes;
}

}  // namespace cuco::design
