// SPDX-License-Identifier: Apache-2.0
#include "vcluster/graph/cuda_graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/core/ids.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/host/processes.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {
namespace {

template <typename Request>
std::vector<std::byte> to_payload(const Request& request, wire::Bytes tail = {}) {
  std::vector<std::byte> payload;
  wire::append(payload, request);
  payload.insert(payload.end(), tail.begin(), tail.end());
  return payload;
}

using Serialised = std::pair<std::uint32_t, std::vector<std::byte>>;

struct Serialiser {
  std::int32_t device;

  Serialised operator()(std::monostate) const { return {0, {}}; }
  Serialised operator()(const KernelOperation& kernel) const {
    wire::Launch request;
    request.stream.device = device;
    request.function = kernel.function->id;
    std::ranges::copy(kernel.grid, request.grid);
    std::ranges::copy(kernel.block, request.block);
    request.cooperative = kernel.cooperative ? 1 : 0;
    request.dynamic_smem = kernel.dynamic_smem;
    return {wire::Launch::kType, to_payload(request, kernel.arguments)};
  }
  Serialised operator()(const CopyOperation& copy) const {
    wire::Copy request;
    request.stream.device = device;
    request.to = copy.to;
    request.from = copy.from;
    request.width = copy.width;
    request.height = copy.height;
    request.depth = copy.depth;
    return {wire::Copy::kType, to_payload(request)};
  }
  Serialised operator()(const FillOperation& fill) const {
    wire::Fill request;
    request.stream.device = device;
    request.address = fill.address;
    request.pitch = fill.pitch;
    request.slice = fill.slice;
    request.width = fill.width;
    request.height = fill.height;
    request.depth = fill.depth;
    request.value = fill.value;
    request.element_bytes = fill.element_bytes;
    return {wire::Fill::kType, to_payload(request)};
  }
  Serialised operator()(const HostOperation& host) const {
    wire::HostFunction request;
    request.function = host.function;
    request.argument = host.argument;
    return {wire::HostFunction::kType, to_payload(request)};
  }
  Serialised operator()(const RecordOperation& record) const {
    wire::EventRecord request;
    request.event = record.event->id;
    return {wire::EventRecord::kType, to_payload(request)};
  }
  Serialised operator()(const WaitOperation& wait) const {
    wire::StreamWaitEvent request;
    request.event = wait.event->id;
    return {wire::StreamWaitEvent::kType, to_payload(request)};
  }
  Serialised operator()(const AllocateOperation& take) const {
    wire::AllocateAsync request;
    request.device = device;
    request.bytes = take.memory->bytes();
    return {wire::AllocateAsync::kType, to_payload(request)};
  }
  Serialised operator()(const FreeOperation& free) const {
    wire::FreeAsync request;
    request.device = device;
    request.address = free.address;
    return {wire::FreeAsync::kType, to_payload(request)};
  }
  Serialised operator()(const ClaimOperation&) const { return {0, {}}; }
  Serialised operator()(const CollectiveOperation&) const { return {0, {}}; }
  Serialised operator()(const ChildOperation& child) const {
    wire::GraphLaunch request;
    request.exec = child.graph->id;
    return {wire::GraphLaunch::kType, to_payload(request)};
  }
};

/// Hands a graph's nodes in, after `begin`; returns the pieces nothing else waits for.
std::vector<WorkPtr> submit_nodes(const GraphParts& parts,
                                  Process& process,
                                  const Graph& graph,
                                  const WorkPtr& begin) {
  std::map<std::uint64_t, WorkPtr> done;
  std::set<std::uint64_t> has_successor;
  const auto order = graph.order();
  for (const std::uint64_t id : order.value_or(std::vector<std::uint64_t>{})) {
    const GraphNode& node = graph.nodes.at(id);
    Context* context = parts.processes.context(process, node.device);
    if (context == nullptr) continue;
    std::vector<WorkPtr> after;
    for (const std::uint64_t earlier : node.after) {
      after.push_back(done[earlier]);
      has_successor.insert(earlier);
    }
    if (after.empty()) after.push_back(begin);
    // A child graph is handed in on the spot, between two markers: its beginning and this node.
    const auto* child = std::get_if<ChildOperation>(&node.operation);
    if (child != nullptr && node.enabled) {
      const WorkPtr child_begin = WorkGraph::make("child graph", nullptr);
      child_begin->stream = begin->stream;
      parts.works.submit(child_begin, after);
      if (parts.check != nullptr) parts.check->on_graph_node(*child_begin, *begin);
      after = submit_nodes(parts, process, *child->graph, child_begin);
      after.push_back(child_begin);
    }
    if (const auto* wait = std::get_if<WaitOperation>(&node.operation)) {
      after.push_back(wait->event->recorded);
    }
    done[id] = node.enabled && child == nullptr
                   ? parts.operations.make_work(*context, node.operation)
                   : WorkGraph::make("graph node", nullptr);
    done[id]->in_graph = true;
    done[id]->device = context->device;
    done[id]->stream = begin->stream;
    parts.works.submit(done[id], after);
    if (parts.check != nullptr) parts.check->on_graph_node(*done[id], *begin);
  }
  std::vector<WorkPtr> ends;
  for (const auto& [id, work] : done) {
    if (!has_successor.contains(id)) ends.push_back(work);
  }
  return ends;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> Graph::order() const {
  std::map<std::uint64_t, std::size_t> unmet;
  std::map<std::uint64_t, std::vector<std::uint64_t>> successors;
  std::set<std::uint64_t> ready;
  for (const auto& [number, node] : nodes) {
    unmet[number] = node.after.size();
    if (node.after.empty()) ready.insert(number);
    for (const std::uint64_t earlier : node.after)
      successors[earlier].push_back(number);
  }
  std::vector<std::uint64_t> result;
  while (!ready.empty()) {
    const std::uint64_t first = *ready.begin();
    ready.erase(ready.begin());
    result.push_back(first);
    for (const std::uint64_t next : successors[first]) {
      if (--unmet[next] == 0) ready.insert(next);
    }
  }
  if (result.size() != nodes.size()) return std::nullopt;
  return result;
}

std::set<std::uint64_t> ancestors(const Graph& graph, std::vector<std::uint64_t> ends) {
  std::set<std::uint64_t> seen;
  while (!ends.empty()) {
    const std::uint64_t id = ends.back();
    ends.pop_back();
    if (!seen.insert(id).second) continue;
    const auto found = graph.nodes.find(id);
    if (found == graph.nodes.end()) continue;
    ends.insert(ends.end(), found->second.after.begin(), found->second.after.end());
  }
  return seen;
}

WorkPtr launch_graph(const GraphParts& parts, Stream& stream, GraphExec& exec) {
  Context& context = *stream.context;
  const WorkPtr begin = WorkGraph::make("start of a graph", nullptr);
  const WorkPtr end = WorkGraph::make("graph", nullptr);
  // Launches of one executable graph do not overlap, whatever their streams.
  const WorkPtr also[] = {exec.last};
  context.streams.submit(stream, begin, also);
  auto ends = submit_nodes(parts, *context.process, exec.graph, begin);
  context.streams.submit(stream, end, ends);
  exec.last = end;
  return end;
}

Parsed parse_child(Ids& ids, const Process& process, std::uint64_t graph) {
  const auto found = process.graphs.find(graph);
  if (found == process.graphs.end()) return {wire::kInvalidValue, {}};
  return {wire::kSuccess, ChildOperation{clone(ids, *found->second)}};
}

Serialised serialise(const Operation& operation, std::int32_t device) {
  return std::visit(Serialiser{device}, operation);
}

// New numbers for all nodes; `cloned_from` lets cudaGraphNodeFindInClone find them.
std::shared_ptr<Graph> clone(Ids& ids, const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  copy->id = ids.next();
  std::map<std::uint64_t, std::uint64_t> renamed;
  for (const auto& [id, node] : graph.nodes)
    renamed[id] = ids.next();
  for (const auto& [id, node] : graph.nodes) {
    GraphNode twin = node;
    twin.cloned_from = id;
    for (std::uint64_t& earlier : twin.after)
      earlier = renamed[earlier];
    copy->nodes[renamed[id]] = std::move(twin);
  }
  return copy;
}

}  // namespace cuco::vcluster
