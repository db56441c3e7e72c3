// SPDX-License-Identifier: Apache-2.0
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

constexpr std::uint32_t kDisableTiming = 2;
constexpr std::uint32_t kInterprocess = 4;

Event* find_event(Session& session, std::uint64_t id) {
  const auto found = session.process->events.find(id);
  if (found != session.process->events.end()) return found->second.get();
  session.reply(wire::kInvalidResourceHandle);
  return nullptr;
}

/// CUDA has no state for an event that stands for a place in a graph: asking breaks the capture.
bool is_captured(Session& session, const Event& event) {
  const auto capture = event.capture.lock();
  if (capture == nullptr) return false;
  invalidate(*capture);
  session.reply(wire::kCapturedEvent);
  return true;
}

void create(const StreamParts& parts, Session& session, const wire::EventCreate& request) {
  if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
  const bool interprocess = (request.flags & kInterprocess) != 0;
  const bool timing = (request.flags & kDisableTiming) == 0;
  if (request.flags > 7 || (interprocess && timing)) return session.reply(wire::kInvalidValue);
  auto event = std::make_shared<Event>();
  event->id = parts.ids.next();
  event->device = request.device;
  event->timing = timing;
  event->interprocess = interprocess;
  session.process->events[event->id] = event;
  session.reply_with(wire::kSuccess, wire::EventCreate::Reply{.event = event->id});
}

void record(const StreamParts& parts, Session& session, const wire::EventRecord& request) {
  Stream* stream = parts.processes.stream(session, request.stream);
  const auto found = session.process->events.find(request.event);
  if (stream == nullptr || found == session.process->events.end() ||
      stream->context->device != found->second->device) {
    return session.reply(wire::kInvalidResourceHandle);
  }
  const auto result = parts.operations.enqueue(*stream, RecordOperation{found->second});
  reply_status(session, stream->context, result.status);
}

void synchronize(const StreamParts& parts,
                 Session& session,
                 const wire::EventSynchronize& request) {
  Event* event = find_event(session, request.event);
  if (event == nullptr || is_captured(session, *event)) return;
  parts.replies.when_done(session, {&event->recorded, 1},
                          parts.processes.context(*session.process, event->device),
                          fmt::format("event {} (cudaEventSynchronize)", event->id));
}

void query(const StreamParts& parts, Session& session, const wire::EventQuery& request) {
  Event* event = find_event(session, request.event);
  if (event == nullptr || is_captured(session, *event)) return;
  // An event that was never recorded counts as done.
  const bool done = event->recorded == nullptr || event->recorded->done();
  if (done) session.learn({&event->recorded, 1});
  reply_status(session, parts.processes.context(*session.process, event->device),
               done ? wire::kSuccess : wire::kNotReady);
}

void elapsed(Session& session, const wire::EventElapsed& request) {
  const Event* start = find_event(session, request.start);
  if (start == nullptr) return;
  const Event* end = find_event(session, request.end);
  if (end == nullptr) return;
  if (!start->timing || !end->timing || start->recorded == nullptr || end->recorded == nullptr) {
    return session.reply(wire::kInvalidResourceHandle);
  }
  if (!start->recorded->done() || !end->recorded->done()) return session.reply(wire::kNotReady);
  session.reply_with(
      wire::kSuccess,
      wire::EventElapsed::Reply{.picoseconds = end->recorded->done_at - start->recorded->done_at});
}

}  // namespace

void register_event_calls(Dispatcher& dispatcher, const StreamParts& parts) {
  dispatcher.on<wire::EventCreate>([parts](Session& session, const wire::EventCreate& request,
                                           wire::Bytes) { create(parts, session, request); });
  dispatcher.on<wire::EventDestroy>(
      [](Session& session, const wire::EventDestroy& request, wire::Bytes) {
        const bool known = session.process->events.erase(request.event) != 0;
        session.reply(known ? wire::kSuccess : wire::kInvalidResourceHandle);
      });
  dispatcher.on<wire::EventRecord>([parts](Session& session, const wire::EventRecord& request,
                                           wire::Bytes) { record(parts, session, request); });
  dispatcher.on<wire::EventSynchronize>(
      [parts](Session& session, const wire::EventSynchronize& request, wire::Bytes) {
        synchronize(parts, session, request);
      });
  dispatcher.on<wire::EventQuery>([parts](Session& session, const wire::EventQuery& request,
                                          wire::Bytes) { query(parts, session, request); },
                                  Turn::Poll);
  dispatcher.on<wire::EventElapsed>([](Session& session, const wire::EventElapsed& request,
                                       wire::Bytes) { elapsed(session, request); });
}

}  // namespace cuco::vcluster
