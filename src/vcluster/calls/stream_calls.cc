// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "shims/wire/messages_stream.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/ids.h"
#include "vcluster/core/operation.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint32_t kNonBlocking = 1;
constexpr VTime kAsyncCost = 1'200 * vgpu::kNanosecond;

/// Waiting for, or asking about, a capturing stream breaks the capture.
bool forbidden_in_capture(Session& session, Stream& stream) {
  if (stream.capture == nullptr) return false;
  invalidate(*stream.capture);
  session.reply(wire::kStreamCaptureUnsupported);
  return true;
}

void create_stream(const StreamParts& parts, Session& session, const wire::StreamCreate& request) {
  Context* context = parts.processes.context(*session.process, request.device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  if (request.flags > kNonBlocking) return session.reply(wire::kInvalidValue);
  const Stream& stream = context->streams.create(
      parts.ids.next(), (request.flags & kNonBlocking) != 0, request.priority);
  session.reply_with(wire::kSuccess, wire::StreamCreate::Reply{.stream = stream.id});
}

void synchronize(const StreamParts& parts,
                 Session& session,
                 const wire::StreamSynchronize& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (forbidden_in_capture(session, *stream)) return;
  const auto waits = stream->context->streams.unfinished(*stream);
  parts.replies.when_done(session, waits, stream->context,
                          fmt::format("{} (cudaStreamSynchronize)", stream->name()));
}

void query(const StreamParts& parts, Session& session, const wire::StreamQuery& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (forbidden_in_capture(session, *stream)) return;
  const auto works = stream->context->streams.unfinished(*stream);
  const bool busy = std::ranges::any_of(works, [](const WorkPtr& work) { return !work->done(); });
  // A query that finds everything done orders it before what the thread does next.
  if (!busy) session.learn(works);
  reply_status(session, stream->context, busy ? wire::kNotReady : wire::kSuccess);
}

void stream_info(const StreamParts& parts, Session& session, const wire::StreamInfo& request) {
  const Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  wire::StreamInfo::Reply reply;
  reply.id = stream->id != 0 ? stream->id : request.stream.stream;
  reply.flags = stream->non_blocking ? kNonBlocking : 0;
  reply.priority = stream->priority;
  reply.device = stream->context->device;
  session.reply_with(wire::kSuccess, reply);
}

void wait_event(const StreamParts& parts, Session& session, const wire::StreamWaitEvent& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  const auto found = session.process->events.find(request.event);
  if (stream == nullptr || found == session.process->events.end()) {
    return session.reply(wire::kInvalidResourceHandle);
  }
  const auto result = parts.operations.enqueue(*stream, WaitOperation{found->second});
  reply_status(session, stream->context, result.status);
}

void host_function(const StreamParts& parts, Session& session, const wire::HostFunction& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (session.process->service == nullptr) return session.refuse("no service thread");
  const HostOperation host{.function = request.function,
                           .argument = request.argument,
                           .stream = request.stream.stream,
                           .is_stream_callback = request.stream_callback != 0};
  const auto result = parts.operations.enqueue(*stream, host);
  reply_status(session, stream->context, result.status);
}

}  // namespace

void register_stream_calls(Dispatcher& dispatcher, const StreamParts& parts) {
  dispatcher.on<wire::StreamCreate>(
      [parts](Session& session, const wire::StreamCreate& request, wire::Bytes) {
        create_stream(parts, session, request);
      });
  dispatcher.on<wire::StreamDestroy>(
      [parts](Session& session, const wire::StreamDestroy& request, wire::Bytes) {
        Stream* stream = request.stream <= wire::kPerThreadStream
                             ? nullptr
                             : parts.processes.stream(session, {.stream = request.stream});
        if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
        if (stream->capture != nullptr) leave_capture(*stream);
        stream->context->streams.destroy(*stream);
        session.reply(wire::kSuccess);
      });
  dispatcher.on<wire::StreamSynchronize>(
      [parts](Session& session, const wire::StreamSynchronize& request, wire::Bytes) {
        synchronize(parts, session, request);
      });
  dispatcher.on<wire::StreamQuery>([parts](Session& session, const wire::StreamQuery& request,
                                           wire::Bytes) { query(parts, session, request); },
                                   Turn::Poll);
  dispatcher.on<wire::StreamInfo>([parts](Session& session, const wire::StreamInfo& request,
                                          wire::Bytes) { stream_info(parts, session, request); });
  dispatcher.on<wire::StreamWaitEvent>(
      [parts](Session& session, const wire::StreamWaitEvent& request, wire::Bytes) {
        wait_event(parts, session, request);
      });
  dispatcher.on<wire::HostFunction>(
      [parts](Session& session, const wire::HostFunction& request, wire::Bytes) {
        host_function(parts, session, request);
      },
      Turn::InTime, kAsyncCost);
}

}  // namespace cuco::vcluster
