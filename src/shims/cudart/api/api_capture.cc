// SPDX-License-Identifier: Apache-2.0
// Stream capture.
#include <vector>

#include "shims/cudart/runtime.h"
#include "shims/wire/messages_graph.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr int kRelaxed = 2;

/// What cudaStreamGetCaptureInfo hands out pointers to: valid until the thread's next call of it.
thread_local std::vector<std::uint64_t>* capture_nodes = nullptr;
thread_local std::vector<GraphEdge>* capture_edges = nullptr;

Error begin(StreamHandle stream,
            GraphHandle graph,
            std::span<const NodeHandle> after,
            int mode,
            std::uint32_t begins_early = 0) {
  if (mode < 0 || mode > 2) return wire::kInvalidValue;
  const Error status =
      call(wire::CaptureBegin{.stream = stream_ref(stream),
                              .graph = number_of(graph),
                              .mode = static_cast<std::uint32_t>(mode),
                              .dependencies = static_cast<std::uint32_t>(after.size()),
                              .begins_early = begins_early},
           nullptr, std::as_bytes(after));
  if (status == 0 && mode != kRelaxed) {
    if (thread().captures == nullptr) thread().captures = new std::vector<StreamHandle>;
    thread().captures->push_back(stream);
  }
  return status;
}

}  // namespace

// As measured (bench/loopback/capture_rules.cu): also other streams, and events of theirs.
bool cuco::cudart::may_not_wait() {
  if (thread().captures == nullptr || thread().capture_mode == kRelaxed) return false;
  // To wait for what is captured is what spoils it. Others do not capture any more.
  std::erase_if(*thread().captures, [](StreamHandle stream) {
    const Error status = call(wire::StreamSynchronize{.stream = stream_ref(stream)});
    return status != wire::kStreamCaptureUnsupported;
  });
  return !thread().captures->empty();
}

CUCO_CUDART Error cudaStreamBeginCapture(StreamHandle stream, int mode) {
  return done(begin(stream, nullptr, {}, mode));
}
CUCO_CUDART Error cudaStreamBeginCapture_ptsz(StreamHandle stream, int mode) {
  return cudaStreamBeginCapture(per_thread_if_null(stream), mode);
}

CUCO_CUDART Error cudaStreamBeginCaptureToGraph(StreamHandle stream,
                                                GraphHandle graph,
                                                const NodeHandle* after,
                                                const GraphEdge* edges,
                                                std::size_t count,
                                                int mode) {
  if (graph == nullptr || (count > 0 && after == nullptr)) return done(wire::kInvalidValue);
  return done(begin(stream, graph, {after, count}, mode, begins_early(edges, count)));
}
CUCO_CUDART Error cudaStreamBeginCaptureToGraph_ptsz(StreamHandle stream,
                                                     GraphHandle graph,
                                                     const NodeHandle* after,
                                                     const GraphEdge* edges,
                                                     std::size_t count,
                                                     int mode) {
  return cudaStreamBeginCaptureToGraph(per_thread_if_null(stream), graph, after, edges, count,
                                       mode);
}

CUCO_CUDART Error cudaStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  if (graph == nullptr) return done(wire::kInvalidValue);
  if (thread().captures != nullptr) std::erase(*thread().captures, stream);
  wire::CaptureEnd::Reply reply;
  const Error status = call(wire::CaptureEnd{.stream = stream_ref(stream)}, &reply);
  *graph = handle_of<GraphHandle>(status == 0 ? reply.graph : 0);
  return done(status);
}
CUCO_CUDART Error cudaStreamEndCapture_ptsz(StreamHandle stream, GraphHandle* graph) {
  return cudaStreamEndCapture(per_thread_if_null(stream), graph);
}

CUCO_CUDART Error cudaStreamIsCapturing(StreamHandle stream, int* state) {
  if (state == nullptr) return done(wire::kInvalidValue);
  wire::CaptureInfo::Reply reply;
  const Error status = call(wire::CaptureInfo{.stream = stream_ref(stream)}, &reply);
  *state = static_cast<int>(reply.state);
  return done(status);
}
CUCO_CUDART Error cudaStreamIsCapturing_ptsz(StreamHandle stream, int* state) {
  return cudaStreamIsCapturing(per_thread_if_null(stream), state);
}

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_CUDART Error cudaStreamGetCaptureInfo(StreamHandle stream,
                                           int* state,
                                           unsigned long long* id,
                                           GraphHandle* graph,
                                           const NodeHandle** nodes,
                                           const GraphEdge** edges,
                                           std::size_t* count) {
  if (state == nullptr) return done(wire::kInvalidValue);
  wire::CaptureInfo::Reply reply;
  wire::Bytes tail;
  const Error status = call(wire::CaptureInfo{.stream = stream_ref(stream)}, &reply, {}, &tail);
  if (status != 0) return done(status);
  *state = static_cast<int>(reply.state);
  if (reply.state != 1) return 0;
  if (id != nullptr) *id = reply.id;
  if (graph != nullptr) *graph = handle_of<GraphHandle>(reply.graph);
  if (capture_nodes == nullptr) {
    capture_nodes = new std::vector<std::uint64_t>;
    capture_edges = new std::vector<GraphEdge>;
  }
  *capture_nodes = wire::read_array<std::uint64_t>(tail, reply.count).value_or(*capture_nodes);
  capture_edges->assign(capture_nodes->size(), {});
  if (nodes != nullptr) *nodes = reinterpret_cast<const NodeHandle*>(capture_nodes->data());
  if (edges != nullptr) *edges = capture_edges->data();
  if (count != nullptr) *count = capture_nodes->size();
  return 0;
}
CUCO_CUDART Error cudaStreamGetCaptureInfo_ptsz(StreamHandle stream,
                                                int* state,
                                                unsigned long long* id,
                                                GraphHandle* graph,
                                                const NodeHandle** nodes,
                                                const GraphEdge** edges,
                                                std::size_t* count) {
  return cudaStreamGetCaptureInfo(per_thread_if_null(stream), state, id, graph, nodes, edges,
                                  count);
}
// NOLINTEND(readability-function-size)

CUCO_CUDART Error cudaStreamUpdateCaptureDependencies(StreamHandle stream,
                                                      NodeHandle* nodes,
                                                      const GraphEdge* edges,
                                                      std::size_t count,
                                                      unsigned flags) {
  if (flags > 1 || (count > 0 && nodes == nullptr)) return done(wire::kInvalidValue);
  return done(call(wire::CaptureSetDependencies{.stream = stream_ref(stream),
                                                .count = static_cast<std::uint32_t>(count),
                                                .replace = flags,
                                                .begins_early = begins_early(edges, count)},
                   nullptr, std::as_bytes(std::span(nodes, count))));
}
CUCO_CUDART Error cudaStreamUpdateCaptureDependencies_ptsz(StreamHandle stream,
                                                           NodeHandle* nodes,
                                                           const GraphEdge* edges,
                                                           std::size_t count,
                                                           unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(per_thread_if_null(stream), nodes, edges, count,
                                             flags);
}

CUCO_CUDART Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  if (mode == nullptr || *mode < 0 || *mode > 2) return done(wire::kInvalidValue);
  std::swap(*mode, thread().capture_mode);
  return 0;
}
