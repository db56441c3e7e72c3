// SPDX-License-Identifier: Apache-2.0
#include "vcluster/graph/graph_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "shims/wire/messages_graph.h"
#include "shims/wire/status.h"
#include "vcluster/calls/dispatch.h"
#include "vcluster/device/allocations.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kAutoFreeOnLaunch = 1;

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
AllocateOperation find_freed(const Allocations& allocations,
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
    const Allocation* allocation = allocations.find(address);
    if (left[address] == 0 && take.memory->bytes() == request.bytes && allocation != nullptr &&
        allocation->device == request.device) {
      return take;
    }
  }
  return {};
}

std::uint64_t bytes_in_use(const Allocations& allocations,
                           const Process& process,
                           std::int32_t device) {
  std::uint64_t total = 0;
  for (const auto& [base, allocation] : allocations.all()) {
    const bool is_live = allocation.graph != nullptr && allocation.graph->live;
    if (is_live && allocation.process == process.index && allocation.device == device) {
      total += allocation.bytes;
    }
  }
  return total;
}

void call(const GraphParts& parts, Session& session, const wire::GraphMemoryCall& request) {
  if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
  GraphMemoryUse& use = session.process->graph_memory[request.device];
  const std::uint64_t now = bytes_in_use(parts.allocations, *session.process, request.device);
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

GraphMemory::GraphMemory(const GraphParts& parts, std::uint64_t address, std::uint64_t bytes)
    : allocations_(parts.allocations),
      processes_(parts.processes),
      works_(parts.works),
      address_(address),
      bytes_(bytes) {}

GraphMemory::~GraphMemory() {
  Allocation* allocation = allocations_.find(address_);
  if (allocation == nullptr || allocation->graph != this) return;
  allocation->graph = nullptr;
  if (live) return;  // Now it is like any other: the program frees it.
  allocation->orphaned = true;
  const Process* process = processes_.find(allocation->process);
  if (process == nullptr) return;
  works_.when_done(process->unfinished(), [&allocations = allocations_, address = address_] {
    const Allocation* left = allocations.find(address);
    if (left == nullptr || !left->orphaned) return;
    allocations.erase(address);
    allocations.release(address);
  });
}

Parsed parse_graph_allocation(const GraphParts& parts,
                              Process& process,
                              const GraphPlace& place,
                              const wire::AllocateAsync& request) {
  const AllocateOperation known = find_freed(parts.allocations, place, request);
  if (known.memory != nullptr) return {wire::kSuccess, known};
  const auto made =
      parts.allocations.make(process, {.device = request.device, .bytes = request.bytes});
  if (made.status != wire::kSuccess) return {made.status, {}};
  process.graph_memory.try_emplace(request.device);
  auto memory = std::make_shared<GraphMemory>(parts, made.address, request.bytes);
  parts.allocations.find(made.address)->graph = memory.get();
  return {wire::kSuccess, AllocateOperation{std::move(memory)}};
}

std::int32_t claim_graph_memory(Allocations& allocations, Process& process, GraphExec& exec) {
  MemoryNodes nodes;
  nodes.collect(exec.graph);
  if (nodes.left.empty()) return wire::kSuccess;
  const bool frees_itself = (exec.flags & kAutoFreeOnLaunch) != 0;
  // All or nothing: a launch that is refused has claimed nothing.
  for (const GraphMemory* memory : nodes.taken) {
    if (memory->live && !frees_itself) return wire::kInvalidValue;
  }
  for (GraphMemory* memory : nodes.taken)
    memory->live = true;
  for (auto& [device, use] : process.graph_memory) {
    const std::uint64_t now = bytes_in_use(allocations, process, device);
    use.used_high = std::max(use.used_high, now);
    use.reserved = std::max(use.reserved, now);
    use.reserved_high = std::max(use.reserved_high, use.reserved);
  }
  // What the graph frees itself is the program's only while the launch runs.
  for (const auto& [address, left] : nodes.left) {
    if (left <= 0) return_graph_memory(allocations, address);
  }
  return wire::kSuccess;
}

bool return_graph_memory(Allocations& allocations, std::uint64_t address) {
  const Allocation* allocation = allocations.find(address);
  if (allocation == nullptr || allocation->graph == nullptr) return false;
  allocation->graph->live = false;
  return true;
}

void register_graph_memory_calls(Dispatcher& dispatcher, const GraphParts& parts) {
  dispatcher.on<wire::GraphMemoryCall>([parts](Session& session,
                                               const wire::GraphMemoryCall& request,
                                               wire::Bytes) { call(parts, session, request); });
}

}  // namespace cuco::vcluster
