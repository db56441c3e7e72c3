// SPDX-License-Identifier: Apache-2.0
// Graphs: making them, adding nodes, looking at them.
#include <algorithm>
#include <span>

#include "shims/cudart/graph_node.h"
#include "shims/cudart/runtime.h"
#include "shims/cudart/user_object.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_module.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

struct Where {
  NodeHandle* node;
  GraphHandle graph;
  const NodeHandle* after;
  std::size_t count;
  std::uint32_t begins_early = 0;
};

Error add(const Where& where, const NodeContent& content, void** address = nullptr) {
  if (where.node == nullptr || (where.count > 0 && where.after == nullptr)) {
    return wire::kInvalidValue;
  }
  if (content.status != 0) return content.status;
  std::vector<std::byte> tail;
  const auto after = std::as_bytes(std::span(where.after, where.count));
  tail.insert(tail.end(), after.begin(), after.end());
  tail.insert(tail.end(), content.payload.begin(), content.payload.end());
  wire::GraphAddNode::Reply reply;
  const Error status =
      call(wire::GraphAddNode{.graph = number_of(where.graph),
                              .dependencies = static_cast<std::uint32_t>(where.count),
                              .operation = content.operation,
                              .begins_early = where.begins_early},
           &reply, tail);
  if (status == 0) *where.node = handle_of<NodeHandle>(reply.node);
  if (status == 0 && address != nullptr) *address = reinterpret_cast<void*>(reply.address);
  return status;
}

/// CUDA's way of returning lists: count only, or as many as there is room for.
Error fill_list(const wire::GraphList& request, std::vector<std::uint64_t>* values) {
  wire::GraphList::Reply reply;
  wire::Bytes tail;
  const Error status = call(request, &reply, {}, &tail);
  if (status != 0) return status;
  *values = wire::read_array<std::uint64_t>(tail, reply.count).value_or(*values);
  return 0;
}

Error list_nodes(const wire::GraphList& request, NodeHandle* nodes, std::size_t* count) {
  if (count == nullptr) return wire::kInvalidValue;
  std::vector<std::uint64_t> values;
  if (const Error status = fill_list(request, &values); status != 0) return status;
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = handle_of<NodeHandle>(i < values.size() ? values[i] : 0);
    }
    *count = std::min(*count, values.size());
  } else {
    *count = values.size();
  }
  return 0;
}

Error edit(GraphHandle graph,
           const NodeHandle* from,
           const NodeHandle* to,
           std::size_t count,
           bool is_add,
           std::uint32_t begins_early) {
  if (count > 0 && (from == nullptr || to == nullptr)) return wire::kInvalidValue;
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back(number_of(from[i]));
    pairs.push_back(number_of(to[i]));
  }
  return call(wire::GraphEdit{.graph = number_of(graph),
                              .count = static_cast<std::uint32_t>(count),
                              .add = is_add ? 1U : 0U,
                              .begins_early = begins_early},
              nullptr, std::as_bytes(std::span(pairs)));
}

}  // namespace

CUCO_CUDART Error cudaGraphCreate(GraphHandle* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return done(wire::kInvalidValue);
  wire::GraphCreate::Reply reply;
  const Error status = call(wire::GraphCreate{}, &reply);
  if (status == 0) *graph = handle_of<GraphHandle>(reply.graph);
  return done(status);
}

CUCO_CUDART Error cudaGraphClone(GraphHandle* clone, GraphHandle graph) {
  if (clone == nullptr || graph == nullptr) return done(wire::kInvalidValue);
  wire::GraphCreate::Reply reply;
  const Error status = call(wire::GraphCreate{.clone_of = number_of(graph)}, &reply);
  if (status != 0) return done(status);
  *clone = handle_of<GraphHandle>(reply.graph);
  note_cloned(*clone, graph);
  return 0;
}

CUCO_CUDART Error cudaGraphDestroy(GraphHandle graph) {
  const Error status = call(wire::GraphDestroy{.graph = number_of(graph)});
  if (status == 0) note_destroyed(graph);
  return done(status);
}

CUCO_CUDART Error cudaGraphDestroyNode(NodeHandle node) {
  return done(call(wire::GraphRemoveNode{.node = number_of(node)}));
}

CUCO_CUDART Error cudaGraphAddKernelNode(NodeHandle* node,
                                         GraphHandle graph,
                                         const NodeHandle* after,
                                         std::size_t count,
                                         const KernelNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  return done(add({node, graph, after, count}, content_of(*content)));
}

CUCO_CUDART Error cudaGraphAddMemcpyNode(NodeHandle* node,
                                         GraphHandle graph,
                                         const NodeHandle* after,
                                         std::size_t count,
                                         const Copy3d* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  return done(add({node, graph, after, count}, content_of(*content)));
}

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_CUDART Error cudaGraphAddMemcpyNode1D(NodeHandle* node,
                                           GraphHandle graph,
                                           const NodeHandle* after,
                                           std::size_t count,
                                           void* to,
                                           const void* from,
                                           std::size_t bytes,
                                           int kind) {
  return done(add({node, graph, after, count}, content_of(linear_copy(to, from, bytes, kind))));
}
CUCO_CUDART Error cudaGraphAddMemcpyNodeToSymbol(NodeHandle* node,
                                                 GraphHandle graph,
                                                 const NodeHandle* after,
                                                 std::size_t count,
                                                 const void* symbol,
                                                 const void* from,
                                                 std::size_t bytes,
                                                 std::size_t offset,
                                                 int kind) {
  return done(add({node, graph, after, count}, content_to({symbol, bytes, offset, kind}, from)));
}

CUCO_CUDART Error cudaGraphAddMemcpyNodeFromSymbol(NodeHandle* node,
                                                   GraphHandle graph,
                                                   const NodeHandle* after,
                                                   std::size_t count,
                                                   void* to,
                                                   const void* symbol,
                                                   std::size_t bytes,
                                                   std::size_t offset,
                                                   int kind) {
  return done(add({node, graph, after, count}, content_from({symbol, bytes, offset, kind}, to)));
}
// NOLINTEND(readability-function-size)

CUCO_CUDART Error cudaGraphAddMemsetNode(NodeHandle* node,
                                         GraphHandle graph,
                                         const NodeHandle* after,
                                         std::size_t count,
                                         const FillNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  return done(add({node, graph, after, count}, content_of(*content)));
}

CUCO_CUDART Error cudaGraphAddHostNode(NodeHandle* node,
                                       GraphHandle graph,
                                       const NodeHandle* after,
                                       std::size_t count,
                                       const HostNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  return done(add({node, graph, after, count}, content_of(*content)));
}

CUCO_CUDART Error cudaGraphAddChildGraphNode(NodeHandle* node,
                                             GraphHandle graph,
                                             const NodeHandle* after,
                                             std::size_t count,
                                             GraphHandle child) {
  return done(add({node, graph, after, count}, content_of_child(child)));
}

CUCO_CUDART Error cudaGraphAddEmptyNode(NodeHandle* node,
                                        GraphHandle graph,
                                        const NodeHandle* after,
                                        std::size_t count) {
  return done(add({node, graph, after, count}, {}));
}

CUCO_CUDART Error cudaGraphAddEventRecordNode(NodeHandle* node,
                                              GraphHandle graph,
                                              const NodeHandle* after,
                                              std::size_t count,
                                              EventHandle event) {
  return done(add({node, graph, after, count}, content_of_record(event)));
}

CUCO_CUDART Error cudaGraphAddEventWaitNode(NodeHandle* node,
                                            GraphHandle graph,
                                            const NodeHandle* after,
                                            std::size_t count,
                                            EventHandle event) {
  return done(add({node, graph, after, count}, content_of_wait(event)));
}

CUCO_CUDART Error cudaGraphAddNode(NodeHandle* node,
                                   GraphHandle graph,
                                   const NodeHandle* after,
                                   const GraphEdge* edges,
                                   std::size_t count,
                                   NodeParameters* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  void** address = content->type == kAllocationNode ? &content->allocation.address : nullptr;
  return done(
      add({node, graph, after, count, begins_early(edges, count)}, content_of(*content), address));
}

CUCO_CUDART Error cudaGraphAddMemAllocNode(NodeHandle* node,
                                           GraphHandle graph,
                                           const NodeHandle* after,
                                           std::size_t count,
                                           AllocationNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  return done(add({node, graph, after, count}, content_of(*content), &content->address));
}

CUCO_CUDART Error cudaGraphAddMemFreeNode(NodeHandle* node,
                                          GraphHandle graph,
                                          const NodeHandle* after,
                                          std::size_t count,
                                          void* address) {
  return done(add({node, graph, after, count}, content_of_free(address)));
}

CUCO_CUDART Error cudaGraphGetNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) {
  return done(
      list_nodes({.what = wire::GraphList::kNodes, .object = number_of(graph)}, nodes, count));
}

CUCO_CUDART Error cudaGraphGetRootNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) {
  return done(
      list_nodes({.what = wire::GraphList::kRoots, .object = number_of(graph)}, nodes, count));
}

CUCO_CUDART Error cudaGraphGetEdges(
    GraphHandle graph, NodeHandle* from, NodeHandle* to, GraphEdge* edges, std::size_t* count) {
  if (count == nullptr) return done(wire::kInvalidValue);
  std::vector<std::uint64_t> pairs;
  const Error status =
      fill_list({.what = wire::GraphList::kEdges, .object = number_of(graph)}, &pairs);
  if (status != 0) return done(status);
  if (from == nullptr || to == nullptr) {
    *count = pairs.size() / 2;
    return 0;
  }
  const std::size_t fitting = std::min(*count, pairs.size() / 2);
  for (std::size_t i = 0; i < fitting; ++i) {
    from[i] = handle_of<NodeHandle>(pairs[2 * i]);
    to[i] = handle_of<NodeHandle>(pairs[2 * i + 1]);
    if (edges != nullptr) edges[i] = {};
  }
  *count = fitting;
  return 0;
}

CUCO_CUDART Error cudaGraphNodeGetDependencies(NodeHandle node,
                                               NodeHandle* nodes,
                                               GraphEdge* /*edges*/,
                                               std::size_t* count) {
  return done(list_nodes({.what = wire::GraphList::kDependencies, .object = number_of(node)}, nodes,
                         count));
}

CUCO_CUDART Error cudaGraphNodeGetDependentNodes(NodeHandle node,
                                                 NodeHandle* nodes,
                                                 GraphEdge* /*edges*/,
                                                 std::size_t* count) {
  return done(
      list_nodes({.what = wire::GraphList::kDependents, .object = number_of(node)}, nodes, count));
}

CUCO_CUDART Error cudaGraphAddDependencies(GraphHandle graph,
                                           const NodeHandle* from,
                                           const NodeHandle* to,
                                           const GraphEdge* edges,
                                           std::size_t count) {
  return done(edit(graph, from, to, count, true, begins_early(edges, count)));
}

CUCO_CUDART Error cudaGraphRemoveDependencies(GraphHandle graph,
                                              const NodeHandle* from,
                                              const NodeHandle* to,
                                              const GraphEdge* /*edges*/,
                                              std::size_t count) {
  return done(edit(graph, from, to, count, false, 0));
}

CUCO_CUDART Error cudaGraphNodeFindInClone(NodeHandle* found,
                                           NodeHandle original,
                                           GraphHandle clone) {
  if (found == nullptr) return done(wire::kInvalidValue);
  std::vector<std::uint64_t> values;
  const Error status = fill_list({.what = wire::GraphList::kFindInClone,
                                  .object = number_of(original),
                                  .other = number_of(clone)},
                                 &values);
  if (status != 0 || values.empty()) return done(status != 0 ? status : Error{wire::kInvalidValue});
  *found = handle_of<NodeHandle>(values.front());
  return 0;
}
