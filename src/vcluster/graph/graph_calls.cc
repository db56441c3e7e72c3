// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/ids.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"

namespace cuco::vcluster {
namespace {

constexpr VTime kGraphLaunchCost = 5 * vgpu::kMicrosecond;
constexpr std::uint32_t kMaxNodes = 1U << 20U;

Graph* find_graph(Session& session, std::uint64_t id) {
  const auto found = session.process->graphs.find(id);
  return found == session.process->graphs.end() ? nullptr : found->second.get();
}

GraphExec* find_exec(Session& session, std::uint64_t id) {
  const auto found = session.process->execs.find(id);
  return found == session.process->execs.end() ? nullptr : found->second.get();
}

/// The graph that holds a node.
Graph* graph_of(Session& session, std::uint64_t node) {
  for (const auto& [id, graph] : session.process->graphs) {
    if (graph->nodes.contains(node)) return graph.get();
  }
  return nullptr;
}

/// The device an operation's payload names; the process's first where it names none.
std::int32_t device_in(const Session& session, std::uint32_t type, wire::Bytes payload) {
  std::int32_t device = session.process->devices.front();
  if (type == wire::Launch::kType || type == wire::Copy::kType || type == wire::Fill::kType) {
    // All three start with the stream they would run in.
    if (const auto stream = wire::read_front<wire::StreamRef>(payload)) device = stream->device;
  }
  if (type == wire::AllocateAsync::kType || type == wire::FreeAsync::kType) {
    // Both start with the device.
    if (const auto named = wire::read_front<std::int32_t>(payload)) device = *named;
  }
  return session.process->sees(device) ? device : session.process->devices.front();
}

void add_node(const GraphParts& parts,
              Session& session,
              const wire::GraphAddNode& request,
              wire::Bytes tail) {
  Graph* graph = find_graph(session, request.graph);
  const auto after = wire::read_array<std::uint64_t>(tail, request.dependencies);
  if (graph == nullptr || !after || graph->nodes.size() >= kMaxNodes) {
    return session.reply(wire::kInvalidValue);
  }
  for (const std::uint64_t earlier : *after) {
    if (!graph->nodes.contains(earlier)) return session.reply(wire::kInvalidValue);
  }
  const wire::Bytes payload = tail.subspan(request.dependencies * sizeof(std::uint64_t));
  Parsed parsed;
  if (request.operation == wire::AllocateAsync::kType) {
    const auto wanted = wire::read_front<wire::AllocateAsync>(payload);
    if (!wanted) return session.reply(wire::kInvalidValue);
    parsed = parse_graph_allocation(parts, *session.process, {*graph, *after}, *wanted);
  } else {
    parsed = parts.operations.parse(session, request.operation, payload);
  }
  if (parsed.status != wire::kSuccess) return session.reply(parsed.status);
  if (const auto* child = std::get_if<ChildOperation>(&parsed.operation)) {
    session.process->graphs[child->graph->id] = child->graph;
  }
  GraphNode node;
  node.operation = std::move(parsed.operation);
  node.device = device_in(session, request.operation, payload);
  node.after = *after;
  wire::GraphAddNode::Reply reply;
  reply.node = parts.ids.next();
  if (const auto* take = std::get_if<AllocateOperation>(&node.operation)) {
    reply.address = take->memory->address();
  }
  graph->nodes[reply.node] = std::move(node);
  session.reply_with(wire::kSuccess, reply);
}

GraphNode* find_node(Session& session, std::uint64_t exec, std::uint64_t node) {
  Graph* graph = nullptr;
  if (exec != 0) {
    GraphExec* found = find_exec(session, exec);
    graph = found != nullptr ? &found->graph : nullptr;
  } else {
    graph = graph_of(session, node);
  }
  if (graph == nullptr) return nullptr;
  const auto found = graph->nodes.find(node);
  return found == graph->nodes.end() ? nullptr : &found->second;
}

void set_node(const GraphParts& parts,
              Session& session,
              const wire::GraphSetNode& request,
              wire::Bytes tail) {
  GraphNode* node = find_node(session, request.exec, request.node);
  if (node == nullptr) return session.reply(wire::kInvalidValue);
  if (request.enabled >= 0) {
    node->enabled = request.enabled != 0;
    return session.reply(wire::kSuccess);
  }
  Parsed parsed = parts.operations.parse(session, request.operation, tail);
  if (parsed.status == wire::kSuccess && parsed.operation.index() != node->operation.index()) {
    parsed.status = wire::kInvalidValue;
  }
  if (parsed.status == wire::kSuccess) {
    node->operation = std::move(parsed.operation);
    node->device = device_in(session, request.operation, tail);
  }
  session.reply(parsed.status);
}

void get_node(Session& session, const wire::GraphGetNode& request) {
  const GraphNode* node = find_node(session, request.exec, request.node);
  if (node == nullptr) return session.reply(wire::kInvalidValue);
  const auto [type, payload] = serialise(node->operation, node->device);
  wire::GraphGetNode::Reply reply;
  reply.operation = type;
  reply.enabled = node->enabled ? 1 : 0;
  if (const auto* child = std::get_if<ChildOperation>(&node->operation)) {
    reply.child = child->graph->id;
  } else if (const auto* take = std::get_if<AllocateOperation>(&node->operation)) {
    reply.address = take->memory->address();
  }
  session.reply_with(wire::kSuccess, reply, payload);
}

void edit(Session& session, const wire::GraphEdit& request, wire::Bytes tail) {
  Graph* graph = find_graph(session, request.graph);
  const auto pairs = wire::read_array<std::uint64_t>(tail, std::size_t{request.count} * 2);
  if (graph == nullptr || !pairs) return session.reply(wire::kInvalidValue);
  for (std::size_t i = 0; i < pairs->size(); i += 2) {
    const auto to = graph->nodes.find((*pairs)[i + 1]);
    if (to == graph->nodes.end() || !graph->nodes.contains((*pairs)[i])) {
      return session.reply(wire::kInvalidValue);
    }
    auto& after = to->second.after;
    const auto found = std::ranges::find(after, (*pairs)[i]);
    if ((found != after.end()) == (request.add != 0)) return session.reply(wire::kInvalidValue);
    if (request.add != 0) {
      after.push_back((*pairs)[i]);
    } else {
      after.erase(found);
    }
  }
  session.reply(wire::kSuccess);
}

void remove_node(Session& session, const wire::GraphRemoveNode& request) {
  Graph* graph = graph_of(session, request.node);
  if (graph == nullptr) return session.reply(wire::kInvalidValue);
  graph->nodes.erase(request.node);
  for (auto& [id, node] : graph->nodes)
    std::erase(node.after, request.node);
  session.reply(wire::kSuccess);
}

std::optional<std::vector<std::uint64_t>> collect(Session& session,
                                                  const wire::GraphList& request) {
  const bool about_node = request.what >= wire::GraphList::kDependencies;
  const Graph* graph =
      about_node ? graph_of(session, request.object) : find_graph(session, request.object);
  if (request.what == wire::GraphList::kFindInClone) graph = find_graph(session, request.other);
  if (graph == nullptr) return std::nullopt;
  std::vector<std::uint64_t> values;
  for (const auto& [id, node] : graph->nodes) {
    switch (request.what) {
      case wire::GraphList::kNodes:
        values.push_back(id);
        break;
      case wire::GraphList::kRoots:
        if (node.after.empty()) values.push_back(id);
        break;
      case wire::GraphList::kEdges:
        for (const std::uint64_t earlier : node.after) {
          values.push_back(earlier);
          values.push_back(id);
        }
        break;
      case wire::GraphList::kDependencies:
        if (id == request.object) values = node.after;
        break;
      case wire::GraphList::kDependents:
        if (std::ranges::find(node.after, request.object) != node.after.end()) values.push_back(id);
        break;
      case wire::GraphList::kFindInClone:
        if (node.cloned_from == request.object) values.push_back(id);
        break;
      default:
        return std::nullopt;
    }
  }
  return values;
}

void list(Session& session, const wire::GraphList& request) {
  const auto values = collect(session, request);
  if (!values) return session.reply(wire::kInvalidValue);
  session.reply_with(wire::kSuccess, wire::GraphList::Reply{.count = values->size()},
                     std::as_bytes(std::span(*values)));
}

void instantiate(const GraphParts& parts, Session& session, const wire::GraphInstantiate& request) {
  const Graph* graph = find_graph(session, request.graph);
  if (graph == nullptr || !graph->order()) return session.reply(wire::kInvalidValue);
  auto exec = std::make_shared<GraphExec>();
  exec->id = parts.ids.next();
  exec->flags = request.flags;
  exec->graph = *graph;
  session.process->execs[exec->id] = exec;
  session.reply_with(wire::kSuccess, wire::GraphInstantiate::Reply{.exec = exec->id});
}

/// Two graphs of one shape, node for node in topological order.
void update(Session& session, const wire::GraphExecUpdate& request) {
  constexpr std::uint32_t kTopologyChanged = 2;
  constexpr std::uint32_t kNodeTypeChanged = 3;
  GraphExec* exec = find_exec(session, request.exec);
  const Graph* graph = find_graph(session, request.graph);
  if (exec == nullptr || graph == nullptr) return session.reply(wire::kInvalidValue);
  wire::GraphExecUpdate::Reply reply;
  const auto fail = [&](std::uint32_t result, std::uint64_t node) {
    reply.result = result;
    reply.error_node = node;
    session.reply_with(wire::kGraphExecUpdateFailure, reply);
  };
  const auto mine = exec->graph.order();
  const auto theirs = graph->order();
  if (!mine || !theirs || mine->size() != theirs->size()) return fail(kTopologyChanged, 0);
  std::map<std::uint64_t, std::uint64_t> place;
  for (std::size_t i = 0; i < mine->size(); ++i)
    place[(*theirs)[i]] = (*mine)[i];
  for (const auto& [id, node] : graph->nodes) {
    const GraphNode& old = exec->graph.nodes.at(place[id]);
    if (old.operation.index() != node.operation.index()) return fail(kNodeTypeChanged, id);
    std::vector<std::uint64_t> after;
    for (const std::uint64_t earlier : node.after)
      after.push_back(place[earlier]);
    if (!std::ranges::is_permutation(after, old.after)) return fail(kTopologyChanged, id);
  }
  for (const auto& [id, node] : graph->nodes) {
    exec->graph.nodes.at(place[id]).operation = node.operation;
  }
  session.reply_with(wire::kSuccess, reply);
}

void launch(const GraphParts& parts, Session& session, const wire::GraphLaunch& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  GraphExec* exec = find_exec(session, request.exec);
  if (stream == nullptr || exec == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (stream->capture != nullptr) {
    // A graph launched while capturing becomes a child node.
    auto graph = std::make_shared<Graph>(exec->graph);
    graph->id = parts.ids.next();
    session.process->graphs[graph->id] = graph;
    return session.reply(capture_operation(*stream, ChildOperation{std::move(graph)}));
  }
  std::int32_t status = wire::kSuccess;
  if (stream->context->error == 0) {
    status = claim_graph_memory(parts.allocations, *session.process, *exec);
    if (status == wire::kSuccess) launch_graph(parts, *stream, *exec);
  }
  reply_status(session, stream->context, status);
}

}  // namespace

void register_graph_calls(Dispatcher& dispatcher, const GraphParts& parts) {
  register_graph_memory_calls(dispatcher, parts);
  dispatcher.on<wire::GraphCreate>(
      [parts](Session& session, const wire::GraphCreate& request, wire::Bytes) {
        const Graph* original = find_graph(session, request.clone_of);
        if (request.clone_of != 0 && original == nullptr) return session.reply(wire::kInvalidValue);
        auto graph = original != nullptr ? clone(parts.ids, *original) : std::make_shared<Graph>();
        if (graph->id == 0) graph->id = parts.ids.next();
        session.process->graphs[graph->id] = graph;
        session.reply_with(wire::kSuccess, wire::GraphCreate::Reply{.graph = graph->id});
      });
  dispatcher.on<wire::GraphDestroy>(
      [](Session& session, const wire::GraphDestroy& request, wire::Bytes) {
        const bool known = session.process->graphs.erase(request.graph) != 0;
        session.reply(known ? wire::kSuccess : wire::kInvalidValue);
      });
  dispatcher.on<wire::GraphAddNode>(
      [parts](Session& session, const wire::GraphAddNode& request, wire::Bytes tail) {
        add_node(parts, session, request, tail);
      });
  dispatcher.on<wire::GraphSetNode>(
      [parts](Session& session, const wire::GraphSetNode& request, wire::Bytes tail) {
        set_node(parts, session, request, tail);
      });
  dispatcher.on<wire::GraphGetNode>([](Session& session, const wire::GraphGetNode& request,
                                       wire::Bytes) { get_node(session, request); });
  dispatcher.on<wire::GraphEdit>([](Session& session, const wire::GraphEdit& request,
                                    wire::Bytes tail) { edit(session, request, tail); });
  dispatcher.on<wire::GraphRemoveNode>([](Session& session, const wire::GraphRemoveNode& request,
                                          wire::Bytes) { remove_node(session, request); });
  dispatcher.on<wire::GraphList>([](Session& session, const wire::GraphList& request, wire::Bytes) {
    list(session, request);
  });
  dispatcher.on<wire::GraphInstantiate>(
      [parts](Session& session, const wire::GraphInstantiate& request, wire::Bytes) {
        instantiate(parts, session, request);
      });
  dispatcher.on<wire::GraphExecDestroy>(
      [](Session& session, const wire::GraphExecDestroy& request, wire::Bytes) {
        const bool known = session.process->execs.erase(request.exec) != 0;
        session.reply(known ? wire::kSuccess : wire::kInvalidValue);
      });
  dispatcher.on<wire::GraphExecUpdate>([](Session& session, const wire::GraphExecUpdate& request,
                                          wire::Bytes) { update(session, request); });
  dispatcher.on<wire::GraphLaunch>([parts](Session& session, const wire::GraphLaunch& request,
                                           wire::Bytes) { launch(parts, session, request); },
                                   Turn::InTime, kGraphLaunchCost);
}

}  // namespace cuco::vcluster
