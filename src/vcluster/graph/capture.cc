// SPDX-License-Identifier: Apache-2.0
// Stream capture: what a stream is asked to do becomes nodes instead of work.
//
// Each capturing stream remembers the nodes its next operation depends on. Recording an event
// stores that set in the event; a stream that waits for the event adds it to its own, which is how
// other streams join (fork) and are joined again.
#include <algorithm>
#include <utility>

#include "shims/wire/messages_graph.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/ids.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"

namespace cuco::vcluster {
namespace {

void add_all(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  for (const std::uint64_t node : from) {
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
  }
}

std::int32_t begin_capture(const StreamParts& parts,
                           Session& session,
                           const wire::CaptureBegin& request,
                           wire::Bytes tail) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return wire::kInvalidResourceHandle;
  if (stream->is_legacy) return wire::kStreamCaptureUnsupported;
  if (stream->capture != nullptr) return wire::kIllegalState;
  if (request.mode > 2) return wire::kInvalidValue;
  Process& process = *session.process;
  auto capture = std::make_shared<Capture>();
  if (request.graph != 0) {
    const auto found = process.graphs.find(request.graph);
    const auto nodes = wire::read_array<std::uint64_t>(tail, request.dependencies);
    if (found == process.graphs.end() || !nodes) return wire::kInvalidValue;
    for (const std::uint64_t node : *nodes) {
      if (!found->second->nodes.contains(node)) return wire::kInvalidValue;
    }
    capture->graph = found->second;
    stream->capture_tail = *nodes;
  } else {
    capture->graph = std::make_shared<Graph>();
    capture->graph->id = parts.ids.next();
    stream->capture_tail.clear();
  }
  capture->id = parts.ids.next();
  capture->origin = stream;
  capture->mode = static_cast<Capture::Mode>(request.mode);
  capture->thread = session.thread;
  capture->ids = &parts.ids;
  capture->streams.push_back(stream);
  stream->capture = capture;
  process.captures.push_back(capture);
  return wire::kSuccess;
}

void end_capture(const StreamParts& parts, Session& session, const wire::CaptureEnd& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return session.reply(wire::kIllegalState);
  if (capture->mode != Capture::Mode::Relaxed && capture->thread != session.thread) {
    return session.reply(wire::kStreamCaptureWrongThread);
  }
  if (capture->origin != stream) {
    invalidate(*capture);
    return session.reply(wire::kStreamCaptureUnmatched);
  }
  std::int32_t status = capture->invalid ? wire::kStreamCaptureInvalidated : wire::kSuccess;
  const auto joined = ancestors(*capture->graph, stream->capture_tail);
  std::vector<std::uint64_t> ends = capture->left_behind;
  for (const Stream* other : capture->streams)
    add_all(ends, other->capture_tail);
  const bool all_joined =
      std::ranges::all_of(ends, [&](std::uint64_t node) { return joined.contains(node); });
  if (status == wire::kSuccess && !all_joined) status = wire::kStreamCaptureUnjoined;
  release(*capture);
  wire::CaptureEnd::Reply reply;
  if (status == wire::kSuccess) {
    session.process->graphs[capture->graph->id] = capture->graph;
    reply.graph = capture->graph->id;
  }
  session.reply_with(status, reply);
}

void capture_info(const StreamParts& parts, Session& session, const wire::CaptureInfo& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  wire::CaptureInfo::Reply reply;
  if (const Capture* capture = stream->capture.get()) {
    reply.id = capture->id;
    reply.graph = capture->graph->id;
    reply.state = capture->invalid ? 2 : 1;
    reply.count = static_cast<std::uint32_t>(stream->capture_tail.size());
    // The graph has to be known while it is still being captured.
    session.process->graphs.emplace(capture->graph->id, capture->graph);
  }
  session.reply_with(wire::kSuccess, reply, std::as_bytes(std::span(stream->capture_tail)));
}

void set_dependencies(const StreamParts& parts,
                      Session& session,
                      const wire::CaptureSetDependencies& request,
                      wire::Bytes tail) {
  Stream* stream = parts.processes.stream(session, request.stream);
  const auto nodes = wire::read_array<std::uint64_t>(tail, request.count);
  if (stream == nullptr || stream->capture == nullptr) return session.reply(wire::kIllegalState);
  if (!nodes) return session.reply(wire::kInvalidValue);
  for (const std::uint64_t node : *nodes) {
    if (!stream->capture->graph->nodes.contains(node)) return session.reply(wire::kInvalidValue);
  }
  if (request.replace != 0) stream->capture_tail.clear();
  add_all(stream->capture_tail, *nodes);
  session.reply(wire::kSuccess);
}

}  // namespace

std::int32_t capture_operation(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return wire::kStreamCaptureInvalidated;
  if (const auto* wait = std::get_if<WaitOperation>(&operation)) {
    const auto recorded_in = wait->event->capture.lock();
    if (recorded_in == nullptr) {
      if (wait->event->recorded == nullptr) return wire::kSuccess;  // never recorded: no wait
      invalidate(capture);
      return wire::kStreamCaptureIsolation;
    }
    if (recorded_in.get() != &capture) {
      invalidate(capture);
      invalidate(*recorded_in);
      return wire::kStreamCaptureMerge;
    }
    add_all(stream.capture_tail, wait->event->capture_tail);
    return wire::kSuccess;
  }
  if (const auto* record = std::get_if<RecordOperation>(&operation)) {
    record->event->capture = stream.capture;
    record->event->capture_tail = stream.capture_tail;
    return wire::kSuccess;
  }
  // Memory of a captured allocation lives as long as the process: see docs/cudart.md.
  if (std::holds_alternative<FreeOperation>(operation)) operation = std::monostate{};
  const std::uint64_t id = capture.ids->next();
  GraphNode node;
  node.operation = std::move(operation);
  node.device = stream.context->device;
  node.after = stream.capture_tail;
  capture.graph->nodes[id] = std::move(node);
  stream.capture_tail = {id};
  return wire::kSuccess;
}

bool join_capture(Stream& stream, const Event& event) {
  const auto capture = event.capture.lock();
  if (capture == nullptr || stream.is_legacy) return false;
  stream.capture = capture;
  stream.capture_tail.clear();
  capture->streams.push_back(&stream);
  return true;
}

void leave_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = std::move(stream.capture);
  std::erase(capture->streams, &stream);
  add_all(capture->left_behind, stream.capture_tail);
  if (capture->origin != &stream) return;
  invalidate(*capture);
  release(*capture);
}

void invalidate(Capture& capture) {
  capture.invalid = true;
}

void release(Capture& capture) {
  const auto streams = std::exchange(capture.streams, {});
  Process& process = *capture.origin->context->process;
  const auto keep = capture.origin->capture;  // the last owner must outlive this loop
  for (Stream* stream : streams) {
    stream->capture.reset();
    stream->capture_tail.clear();
  }
  std::erase_if(process.captures, [&](const auto& one) { return one.get() == &capture; });
}

Capture* forbidding_capture(Process& process, std::uint32_t thread) {
  for (const auto& capture : process.captures) {
    if (capture->invalid || capture->mode == Capture::Mode::Relaxed) continue;
    if (capture->mode == Capture::Mode::Global || capture->thread == thread) return capture.get();
  }
  return nullptr;
}

void register_capture_calls(Dispatcher& dispatcher, const StreamParts& parts) {
  dispatcher.on<wire::CaptureBegin>(
      [parts](Session& session, const wire::CaptureBegin& request, wire::Bytes tail) {
        session.reply(begin_capture(parts, session, request, tail));
      });
  dispatcher.on<wire::CaptureEnd>([parts](Session& session, const wire::CaptureEnd& request,
                                          wire::Bytes) { end_capture(parts, session, request); });
  dispatcher.on<wire::CaptureInfo>([parts](Session& session, const wire::CaptureInfo& request,
                                           wire::Bytes) { capture_info(parts, session, request); });
  dispatcher.on<wire::CaptureSetDependencies>(
      [parts](Session& session, const wire::CaptureSetDependencies& request, wire::Bytes tail) {
        set_dependencies(parts, session, request, tail);
      });
}

}  // namespace cuco::vcluster
