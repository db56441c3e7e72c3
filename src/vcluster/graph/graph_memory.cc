// SPDX-License-Identifier: Apache-2.0
#include "vcluster/graph/graph_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "shims/wire/messages_graph.h"
#include "shims/wire/status.h"
#include "vcluster/core/allocate.h"
#include "vcluster/core/cluster.h"
#include "vcluster/graph/cuda_graph.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kAutoFreeOnLaunch = 1;

Allocation* find(Cluster& cluster, std::uint64_t address) {
  const auto found = cluster.allocations.find(address);
  return found == cluster.allocations.end() ? nullptr : &found->second;
}

/// Allocations and frees of a graph and its children.
struct MemoryNodes {
  std::set<GraphMemory*> taken;
  std::map<std::uint64_t, int> left;  ///< By address: allocations minus frees.

  void collect(const Graph& graph) {
    for (const auto& [id, node] : graph.nodes) {
      if (!node.enabled) continue;
      if (const auto* take = std::get_if<AllocateOperation>(&node.operation)) {
        taken.insert(take->memory.get());
        ++left[take->memory->address()];
      } else if (const auto* free = std::get_if<FreeOperation>(&node.operation)) {
        --left[free->address];
      } else if (const auto* child = std::get_if<ChildOperation>(&node.operation)) {
        collect(*child->graph);
      }
    }
  }
};

/// Memory that all its allocations and frees come before that place, and that is free there.
AllocateOperation find_freed(Cluster& cluster,
                             const GraphPlace& place,
                             const wire::AllocateAsync& request) {
  const std::set<std::uint64_t> before = ancestors(place.graph, place.after);
  std::map<std::uint64_t, int> left;
  std::map<std::uint64_t, AllocateOperation> known;
  for (const auto& [id, node] : place.graph.nodes) {
    if (const auto* take = std::get_if<AllocateOperation>(&node.operation)) {
      constexpr int kElsewhere = 1 << 20;  // Another branch may hold it.
      known[take->memory->address()] = *take;
      left[take->memory->address()] += before.contains(id) ? 1 : kElsewhere;
    } else if (const auto* free = std::get_if<FreeOperation>(&node.operation)) {
      if (before.contains(id)) --left[free->address];
    }
  }
  for (const auto& [address, take] : known) {
    const Allocation* allocation = find(cluster, address);
    if (left[address] == 0 && take.memory->bytes() == request.bytes && allocation != nullptr &&
        allocation->device == request.device) {
      return take;
    }
  }
  return {};
}

std::uint64_t bytes_in_use(const Cluster& cluster, const Process& process, std::int32_t device) {
  std::uint64_t total = 0;
  for (const auto& [base, allocation] : cluster.allocations) {
    const bool is_live = allocation.graph != nullptr && allocation.graph->live;
    if (is_live && allocation.process == process.index && allocation.device == device) {
      total += allocation.bytes;
    }
  }
  return total;
}

void call(Cluster& cluster, Session& session, const wire::GraphMemoryCall& request) {
  if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
  GraphMemoryUse& use = session.process->graph_memory[request.device];
  const std::uint64_t now = bytes_in_use(cluster, *session.process, request.device);
  wire::GraphMemoryCall::Reply reply;
  switch (request.what) {
    case wire::GraphMemoryCall::kUsed:
      reply.value = now;
      break;
    case wire::GraphMemoryCall::kUsedHigh:
      reply.value = use.used_high;
      break;
    case wire::GraphMemoryCall::kReserved:
      reply.value = use.reserved;
      break;
    case wire::GraphMemoryCall::kReservedHigh:
      reply.value = use.reserved_high;
      break;
    case wire::GraphMemoryCall::kResetUsedHigh:
      use.used_high = now;
      break;
    case wire::GraphMemoryCall::kResetReservedHigh:
      use.reserved_high = use.reserved;
      break;
    case wire::GraphMemoryCall::kTrim:
      use.reserved = now;
      break;
    default:
      return session.refuse("an unknown call about graph memory");
  }
  session.reply_with(wire::kSuccess, reply);
}

}  // namespace

GraphMemory::~GraphMemory() {
  Allocation* allocation = find(cluster_, address_);
  if (allocation == nullptr || allocation->graph != this) return;
  allocation->graph = nullptr;
  if (live) return;  // Now it is like any other: the program frees it.
  allocation->orphaned = true;
  const auto process = cluster_.processes().find(allocation->process);
  if (process == cluster_.processes().end()) return;
  const auto works = unfinished_works(*process->second);
  cluster_.works.when_done(works, [&cluster = cluster_, address = address_] {
    const Allocation* left = find(cluster, address);
    if (left == nullptr || !left->orphaned) return;
    cluster.allocations.erase(address);
    cluster.release(address);
  });
}

Parsed parse_graph_allocation(Cluster& cluster,
                              Process& process,
                              const GraphPlace& place,
                              const wire::AllocateAsync& request) {
  const AllocateOperation known = find_freed(cluster, place, request);
  if (known.memory != nullptr) return {wire::kSuccess, known};
  const Made made = allocate(cluster, process, {.device = request.device, .bytes = request.bytes});
  if (made.status != wire::kSuccess) return {made.status, {}};
  process.graph_memory.try_emplace(request.device);
  auto memory = std::make_shared<GraphMemory>(cluster, made.address, request.bytes);
  cluster.allocations[made.address].graph = memory.get();
  return {wire::kSuccess, AllocateOperation{std::move(memory)}};
}

std::int32_t claim_graph_memory(Cluster& cluster, Process& process, GraphExec& exec) {
  MemoryNodes nodes;
  nodes.collect(exec.graph);
  if (nodes.left.empty()) return wire::kSuccess;
  const bool frees_itself = (exec.flags & kAutoFreeOnLaunch) != 0;
  for (const GraphMemory* memory : nodes.taken) {
    if (memory->live && !frees_itself) return wire::kInvalidValue;
  }
  for (GraphMemory* memory : nodes.taken)
    memory->live = true;
  for (auto& [device, use] : process.graph_memory) {
    const std::uint64_t now = bytes_in_use(cluster, process, device);
    use.used_high = std::max(use.used_high, now);
    use.reserved = std::max(use.reserved, now);
    use.reserved_high = std::max(use.reserved_high, use.reserved);
  }
  for (const auto& [address, left] : nodes.left) {
    if (left <= 0) return_graph_memory(cluster, address);
  }
  return wire::kSuccess;
}

bool return_graph_memory(Cluster& cluster, std::uint64_t address) {
  const Allocation* allocation = find(cluster, address);
  if (allocation == nullptr || allocation->graph == nullptr) return false;
  allocation->graph->live = false;
  return true;
}

void register_graph_memory_calls(Cluster& cluster) {
  cluster.dispatcher.on<wire::GraphMemoryCall>(
      [&cluster](Session& session, const wire::GraphMemoryCall& request, wire::Bytes) {
        call(cluster, session, request);
      });
}

}  // namespace cuco::vcluster
