// SPDX-License-Identifier: Apache-2.0
// Graphs: reading and changing nodes, instantiating, updating, launching.
#include <cstring>

#include "shims/cudart/graph_node.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/cudart/user_object.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_module.h"
#include "shims/wire/messages_stream.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

Error set(ExecHandle exec, NodeHandle node, const NodeContent& content) {
  if (content.status != 0) return content.status;
  return call(
      wire::GraphSetNode{
          .exec = number_of(exec), .node = number_of(node), .operation = content.operation},
      nullptr, content.payload);
}

template <typename Content>
Error set_from(ExecHandle exec, NodeHandle node, const Content* content) {
  return done(content == nullptr ? Error{wire::kInvalidValue}
                                 : set(exec, node, content_of(*content)));
}

/// Reads a node's content back as the message `Request`; kInvalidValue: it is of another kind.
template <typename Request>
Error get(NodeHandle node, Request* request) {
  wire::GraphGetNode::Reply reply;
  wire::Bytes tail;
  const Error status = call(wire::GraphGetNode{.node = number_of(node)}, &reply, {}, &tail);
  if (status != 0) return status;
  const auto found = wire::read_front<Request>(tail);
  if (reply.operation != Request::kType || !found) return wire::kInvalidValue;
  *request = *found;
  return 0;
}

Error instantiate(ExecHandle* exec, GraphHandle graph, unsigned long long flags) {
  if (exec == nullptr) return wire::kInvalidValue;
  wire::GraphInstantiate::Reply reply;
  const Error status =
      call(wire::GraphInstantiate{.graph = number_of(graph), .flags = flags}, &reply);
  if (status != 0) return status;
  *exec = handle_of<ExecHandle>(reply.exec);
  note_instantiated(*exec, graph, flags);
  return 0;
}

}  // namespace

namespace cuco::cudart {

int node_type(NodeHandle node) {
  wire::GraphGetNode::Reply reply;
  if (call(wire::GraphGetNode{.node = number_of(node)}, &reply) != 0) return -1;
  switch (reply.operation) {
    case wire::Launch::kType:
      return 0;
    case wire::Copy::kType:
      return 1;
    case wire::Fill::kType:
      return 2;
    case wire::HostFunction::kType:
      return 3;
    case wire::GraphLaunch::kType:
      return 4;
    case wire::StreamWaitEvent::kType:
      return 6;
    case wire::EventRecord::kType:
      return 7;
    case wire::AllocateAsync::kType:
      return kAllocationNode;
    case wire::FreeAsync::kType:
      return kFreeNode;
    default:
      return 5;
  }
}

}  // namespace cuco::cudart

CUCO_CUDART Error cudaGraphNodeGetType(NodeHandle node, int* type) {
  if (type == nullptr) return done(wire::kInvalidValue);
  const int found = node_type(node);
  if (found < 0) return done(sticky_error() != 0 ? sticky_error() : Error{wire::kInvalidValue});
  *type = found;
  return 0;
}

CUCO_CUDART Error cudaGraphKernelNodeSetParams(NodeHandle node, const KernelNode* content) {
  return set_from(nullptr, node, content);
}
CUCO_CUDART Error cudaGraphMemcpyNodeSetParams(NodeHandle node, const Copy3d* content) {
  return set_from(nullptr, node, content);
}
CUCO_CUDART Error cudaGraphMemsetNodeSetParams(NodeHandle node, const FillNode* content) {
  return set_from(nullptr, node, content);
}
CUCO_CUDART Error cudaGraphHostNodeSetParams(NodeHandle node, const HostNode* content) {
  return set_from(nullptr, node, content);
}
CUCO_CUDART Error cudaGraphNodeSetParams(NodeHandle node, NodeParameters* content) {
  return set_from(nullptr, node, content);
}
CUCO_CUDART Error cudaGraphMemcpyNodeSetParams1D(
    NodeHandle node, void* to, const void* from, std::size_t bytes, int kind) {
  return done(set(nullptr, node, content_of(linear_copy(to, from, bytes, kind))));
}
CUCO_CUDART Error cudaGraphEventRecordNodeSetEvent(NodeHandle node, EventHandle event) {
  return done(set(nullptr, node, content_of_record(event)));
}
CUCO_CUDART Error cudaGraphEventWaitNodeSetEvent(NodeHandle node, EventHandle event) {
  return done(set(nullptr, node, content_of_wait(event)));
}

CUCO_CUDART Error cudaGraphExecKernelNodeSetParams(ExecHandle exec,
                                                   NodeHandle node,
                                                   const KernelNode* content) {
  return set_from(exec, node, content);
}
CUCO_CUDART Error cudaGraphExecMemcpyNodeSetParams(ExecHandle exec,
                                                   NodeHandle node,
                                                   const Copy3d* content) {
  return set_from(exec, node, content);
}
CUCO_CUDART Error cudaGraphExecMemcpyNodeSetParams1D(
    ExecHandle exec, NodeHandle node, void* to, const void* from, std::size_t bytes, int kind) {
  return done(set(exec, node, content_of(linear_copy(to, from, bytes, kind))));
}
CUCO_CUDART Error cudaGraphExecMemsetNodeSetParams(ExecHandle exec,
                                                   NodeHandle node,
                                                   const FillNode* content) {
  return set_from(exec, node, content);
}
CUCO_CUDART Error cudaGraphExecHostNodeSetParams(ExecHandle exec,
                                                 NodeHandle node,
                                                 const HostNode* content) {
  return set_from(exec, node, content);
}
CUCO_CUDART Error cudaGraphExecNodeSetParams(ExecHandle exec,
                                             NodeHandle node,
                                             NodeParameters* content) {
  return set_from(exec, node, content);
}
CUCO_CUDART Error cudaGraphExecChildGraphNodeSetParams(ExecHandle exec,
                                                       NodeHandle node,
                                                       GraphHandle child) {
  return done(set(exec, node, content_of_child(child)));
}
CUCO_CUDART Error cudaGraphExecEventRecordNodeSetEvent(ExecHandle exec,
                                                       NodeHandle node,
                                                       EventHandle event) {
  return done(set(exec, node, content_of_record(event)));
}
CUCO_CUDART Error cudaGraphExecEventWaitNodeSetEvent(ExecHandle exec,
                                                     NodeHandle node,
                                                     EventHandle event) {
  return done(set(exec, node, content_of_wait(event)));
}

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_CUDART Error cudaGraphMemcpyNodeSetParamsToSymbol(NodeHandle node,
                                                       const void* symbol,
                                                       const void* from,
                                                       std::size_t bytes,
                                                       std::size_t offset,
                                                       int kind) {
  return done(set(nullptr, node, content_to({symbol, bytes, offset, kind}, from)));
}
CUCO_CUDART Error cudaGraphMemcpyNodeSetParamsFromSymbol(NodeHandle node,
                                                         void* to,
                                                         const void* symbol,
                                                         std::size_t bytes,
                                                         std::size_t offset,
                                                         int kind) {
  return done(set(nullptr, node, content_from({symbol, bytes, offset, kind}, to)));
}
CUCO_CUDART Error cudaGraphExecMemcpyNodeSetParamsToSymbol(ExecHandle exec,
                                                           NodeHandle node,
                                                           const void* symbol,
                                                           const void* from,
                                                           std::size_t bytes,
                                                           std::size_t offset,
                                                           int kind) {
  return done(set(exec, node, content_to({symbol, bytes, offset, kind}, from)));
}
CUCO_CUDART Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(ExecHandle exec,
                                                             NodeHandle node,
                                                             void* to,
                                                             const void* symbol,
                                                             std::size_t bytes,
                                                             std::size_t offset,
                                                             int kind) {
  return done(set(exec, node, content_from({symbol, bytes, offset, kind}, to)));
}
// NOLINTEND(readability-function-size)

CUCO_CUDART Error cudaGraphMemsetNodeGetParams(NodeHandle node, FillNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  wire::Fill request;
  const Error status = get(node, &request);
  if (status == 0) {
    *content = {reinterpret_cast<void*>(request.address),
                request.pitch,
                request.value,
                request.element_bytes,
                request.width,
                request.height};
  }
  return done(status);
}

CUCO_CUDART Error cudaGraphHostNodeGetParams(NodeHandle node, HostNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  wire::HostFunction request;
  const Error status = get(node, &request);
  if (status == 0) {
    *content = {reinterpret_cast<HostFunction>(request.function),
                reinterpret_cast<void*>(request.argument)};
  }
  return done(status);
}

CUCO_CUDART Error cudaGraphMemcpyNodeGetParams(NodeHandle node, Copy3d* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  wire::Copy request;
  const Error status = get(node, &request);
  if (status == 0) {
    const auto pointer = [&](const wire::CopyEnd& end) {
      return PitchedPointer{reinterpret_cast<void*>(end.address), end.pitch, request.width,
                            end.pitch != 0 ? end.slice / end.pitch : 0};
    };
    *content = {};
    content->src = pointer(request.from);
    content->dst = pointer(request.to);
    content->extent = {request.width, request.height, request.depth};
    content->kind = kDefaultKind;
  }
  return done(status);
}

CUCO_CUDART Error cudaGraphEventRecordNodeGetEvent(NodeHandle node, EventHandle* event) {
  wire::EventRecord request;
  const Error status = event == nullptr ? Error{wire::kInvalidValue} : get(node, &request);
  if (status == 0) *event = handle_of<EventHandle>(request.event);
  return done(status);
}

CUCO_CUDART Error cudaGraphEventWaitNodeGetEvent(NodeHandle node, EventHandle* event) {
  wire::StreamWaitEvent request;
  const Error status = event == nullptr ? Error{wire::kInvalidValue} : get(node, &request);
  if (status == 0) *event = handle_of<EventHandle>(request.event);
  return done(status);
}

CUCO_CUDART Error cudaGraphChildGraphNodeGetGraph(NodeHandle node, GraphHandle* graph) {
  if (graph == nullptr) return done(wire::kInvalidValue);
  wire::GraphGetNode::Reply reply;
  Error status = call(wire::GraphGetNode{.node = number_of(node)}, &reply);
  if (status == 0 && reply.child == 0) status = wire::kInvalidValue;
  if (status == 0) *graph = handle_of<GraphHandle>(reply.child);
  return done(status);
}

CUCO_CUDART Error cudaGraphNodeSetEnabled(ExecHandle exec, NodeHandle node, unsigned enabled) {
  return done(call(wire::GraphSetNode{
      .exec = number_of(exec), .node = number_of(node), .enabled = enabled != 0 ? 1 : 0}));
}

CUCO_CUDART Error cudaGraphNodeGetEnabled(ExecHandle exec, NodeHandle node, unsigned* enabled) {
  if (enabled == nullptr) return done(wire::kInvalidValue);
  wire::GraphGetNode::Reply reply;
  const Error status =
      call(wire::GraphGetNode{.exec = number_of(exec), .node = number_of(node)}, &reply);
  *enabled = reply.enabled;
  return done(status);
}

CUCO_CUDART Error cudaGraphInstantiate(ExecHandle* exec,
                                       GraphHandle graph,
                                       unsigned long long flags) {
  return done(instantiate(exec, graph, flags));
}
CUCO_CUDART Error cudaGraphInstantiateWithFlags(ExecHandle* exec,
                                                GraphHandle graph,
                                                unsigned long long flags) {
  return done(instantiate(exec, graph, flags));
}
CUCO_CUDART Error cudaGraphInstantiateWithParams(ExecHandle* exec,
                                                 GraphHandle graph,
                                                 InstantiateParameters* parameters) {
  if (parameters == nullptr) return done(wire::kInvalidValue);
  const Error status = instantiate(exec, graph, parameters->flags);
  parameters->error_node = nullptr;
  parameters->result = status == 0 ? 0 : 1;
  return done(status);
}
CUCO_CUDART Error cudaGraphInstantiateWithParams_ptsz(ExecHandle* exec,
                                                      GraphHandle graph,
                                                      InstantiateParameters* parameters) {
  return cudaGraphInstantiateWithParams(exec, graph, parameters);
}

CUCO_CUDART Error cudaGraphExecDestroy(ExecHandle exec) {
  const Error status = call(wire::GraphExecDestroy{.exec = number_of(exec)});
  if (status == 0) note_destroyed(exec);
  return done(status);
}

CUCO_CUDART Error cudaGraphExecUpdate(ExecHandle exec, GraphHandle graph, UpdateResult* result) {
  wire::GraphExecUpdate::Reply reply;
  const Error status =
      call(wire::GraphExecUpdate{.exec = number_of(exec), .graph = number_of(graph)}, &reply);
  if (result != nullptr) {
    *result = {static_cast<int>(reply.result), handle_of<NodeHandle>(reply.error_node), nullptr};
  }
  return done(status);
}

CUCO_CUDART Error cudaGraphLaunch(ExecHandle exec, StreamHandle stream) {
  return done(call(wire::GraphLaunch{.stream = stream_ref(stream), .exec = number_of(exec)}));
}
CUCO_CUDART Error cudaGraphLaunch_ptsz(ExecHandle exec, StreamHandle stream) {
  return cudaGraphLaunch(exec, per_thread_if_null(stream));
}

// There is nothing to upload: the nodes live in the server.
CUCO_CUDART Error cudaGraphUpload(ExecHandle /*exec*/, StreamHandle /*stream*/) {
  return done(refused());
}
CUCO_CUDART Error cudaGraphUpload_ptsz(ExecHandle exec, StreamHandle stream) {
  return cudaGraphUpload(exec, stream);
}
