// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory that graphs allocate.
///
/// The address belongs to the allocation node, and so to the graph and its executable copies: each
/// launch hands out the same memory anew. Between a launch and the free that follows it (a node, of
/// this graph or another, or a call) the memory is the program's; it may outlive the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shims/wire/messages_memory.h"
#include "vcluster/core/operation.h"

namespace cuco::vcluster {

class Dispatcher;
struct GraphExec;
struct GraphParts;

class GraphMemory {
 public:
  GraphMemory(const GraphParts& parts, std::uint64_t address, std::uint64_t bytes);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  bool live = false;  ///< The program's, in the order of its calls.

 private:
  Allocations& allocations_;
  const Processes& processes_;
  WorkGraph& works_;
  std::uint64_t address_;
  std::uint64_t bytes_;
};

/// Where in a graph a node is to be added.
struct GraphPlace {
  const Graph& graph;
  const std::vector<std::uint64_t>& after;
};

/// cudaGraphAddMemAllocNode, or cudaMallocAsync while capturing. Memory of the same size that the
/// graph has freed before that place is used again, at the same address.
[[nodiscard]] Parsed parse_graph_allocation(const GraphParts& parts,
                                            Process& process,
                                            const GraphPlace& place,
                                            const wire::AllocateAsync& request);

/// A launch takes its memory, and frees what its nodes free; an error if the program still has it.
[[nodiscard]] std::int32_t claim_graph_memory(Allocations& allocations,
                                              Process& process,
                                              GraphExec& exec);

/// The program gives memory back. False: it is no graph's, and is really to be freed.
bool return_graph_memory(Allocations& allocations, std::uint64_t address);

/// cudaDeviceGetGraphMemAttribute and its kin.
void register_graph_memory_calls(Dispatcher& dispatcher, const GraphParts& parts);

}  // namespace cuco::vcluster
