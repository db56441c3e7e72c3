// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/operation.h"

#include <utility>

#include <fmt/format.h>

#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/core/ids.h"
#include "vcluster/device/allocations.h"
#include "vcluster/device/device_copy.h"
#include "vcluster/device/kernel_launch.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/sessions.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {
namespace {

/// No honest size is larger; below it sums and products of four cannot overflow.
constexpr std::uint64_t kSane = std::uint64_t{1} << 40U;

/// From the first byte to the last of a pitched copy; nullopt: no honest program asks for it.
std::optional<std::uint64_t> extent_of(std::uint64_t width,
                                       std::uint64_t height,
                                       std::uint64_t depth,
                                       std::uint64_t pitch,
                                       std::uint64_t slice) {
  if (width == 0 || height == 0 || depth == 0) return 0;
  if (width > kSane || height > kSane || depth > kSane || pitch > kSane || slice > kSane) {
    return std::nullopt;
  }
  __extension__ using Wide = unsigned __int128;
  const Wide extent =
      static_cast<Wide>(depth - 1) * slice + static_cast<Wide>(height - 1) * pitch + width;
  const Wide packed = static_cast<Wide>(width) * height * depth;
  if (extent > kSane || packed > kSane) return std::nullopt;
  return static_cast<std::uint64_t>(extent);
}

/// The CUDA error of one end of a copy. Everything in the request comes from outside and may lie.
std::int32_t check_end(const OperationParts& parts,
                       const Session& session,
                       const wire::Copy& request,
                       const wire::CopyEnd& end) {
  const auto extent = extent_of(request.width, request.height, request.depth, end.pitch, end.slice);
  if (!extent) return wire::kInvalidValue;
  const std::uint64_t packed = request.width * request.height * request.depth;
  switch (end.where) {
    case wire::CopyEnd::kServer:
      if (request.height > 1 && end.pitch < request.width) return wire::kInvalidPitchValue;
      return parts.allocations.accessible(*session.process, end.address, *extent)
                 ? wire::kSuccess
                 : wire::kInvalidValue;
    case wire::CopyEnd::kBounce:
      return end.address <= session.bounce().size() &&
                     packed <= session.bounce().size() - end.address
                 ? wire::kSuccess
                 : wire::kInvalidValue;
    case wire::CopyEnd::kHost:
      return session.process->service != nullptr ? wire::kSuccess : wire::kInvalidValue;
  }
  return wire::kInvalidValue;
}

template <typename Request, typename Parse>
Parsed parse_as(wire::Bytes payload, Parse parse) {
  const auto request = wire::read_front<Request>(payload);
  if (!request) return {wire::kInvalidValue, {}};
  return parse(*request, payload.subspan(sizeof(Request)));
}

Parsed parse_event(Session& session, std::uint64_t id, bool record) {
  const auto found = session.process->events.find(id);
  if (found == session.process->events.end()) return {wire::kInvalidResourceHandle, {}};
  if (record) return {wire::kSuccess, RecordOperation{found->second}};
  return {wire::kSuccess, WaitOperation{found->second}};
}

Parsed parse_free(const OperationParts& parts, const Process& process, std::uint64_t address) {
  const Allocation* allocation = parts.allocations.find(address);
  if (allocation == nullptr || allocation->process != process.index) {
    return {wire::kInvalidValue, {}};
  }
  return {wire::kSuccess, FreeOperation{address}};
}

WorkPtr make_host_work(const OperationParts& parts, Context& context, const HostOperation& host) {
  return WorkGraph::make("host function", [&parts, &context, host](const WorkPtr& work) {
    // A stream callback is passed the error; a host function is not called at all after one.
    if (context.error != 0 && !host.is_stream_callback) {
      return parts.works.finish(work, parts.timeline.now());
    }
    ServiceJob job;
    job.request.kind =
        host.is_stream_callback ? wire::NextService::kStreamCallback : wire::NextService::kCallback;
    job.request.function = host.function;
    job.request.argument = host.argument;
    job.request.stream = host.stream;
    job.request.status = context.error;
    job.prepare = [work](Session& service) { service.learn(work->known); };
    job.done = [&parts, work](Session& service) {
      work->known = check::Clock::join(work->known, service.known);
      parts.works.finish(work, service.clock());
    };
    parts.processes.ask(*context.process, std::move(job));
  });
}

WorkPtr make_free_work(const OperationParts& parts, Context& context, const FreeOperation& free) {
  return WorkGraph::make("free", [&parts, &context, free](const WorkPtr& work) {
    const Allocation* allocation = parts.allocations.find(free.address);
    if (allocation != nullptr && allocation->graph == nullptr && !allocation->orphaned) {
      const std::uint64_t bytes = allocation->bytes;
      parts.allocations.erase(free.address);
      if (parts.check != nullptr) {
        parts.check->on_stream_free(*work, context, free, bytes);
      } else {
        parts.allocations.release(free.address);
      }
    }
    parts.works.finish(work, parts.timeline.now());
  });
}

// Without a check there is nothing to do: the memory is the caller's since the call.
WorkPtr make_claim_work(const OperationParts& parts,
                        Context& context,
                        const ClaimOperation& claim) {
  return WorkGraph::make("cudaMallocAsync", [&parts, &context, claim](const WorkPtr& work) {
    if (parts.check != nullptr) parts.check->on_stream_allocate(*work, context, claim);
    parts.works.finish(work, parts.timeline.now());
  });
}

// A time stamp holds its stream up; an event without one does not (bench/launch, one H200).
WorkPtr make_record_work(const OperationParts& parts, const Event& event) {
  constexpr VTime kStampTime = 1'300 * vgpu::kNanosecond;
  const std::string what = fmt::format("record of event {}", event.id);
  if (!event.timing) return WorkGraph::make(what, nullptr);
  return WorkGraph::make(what, [&parts](const WorkPtr& work) {
    parts.works.finish(work, parts.timeline.now() + kStampTime);
  });
}

struct WorkMaker {
  const OperationParts& parts;
  Context& context;

  WorkPtr operator()(std::monostate) const { return WorkGraph::make("empty node", nullptr); }
  WorkPtr operator()(KernelOperation kernel) const {
    return make_kernel_work(parts, context, std::move(kernel));
  }
  WorkPtr operator()(CopyOperation copy) const {
    return make_copy_work(parts, context, std::move(copy));
  }
  WorkPtr operator()(const FillOperation& fill) const {
    return make_fill_work(parts, context, fill);
  }
  WorkPtr operator()(const HostOperation& host) const {
    return make_host_work(parts, context, host);
  }
  WorkPtr operator()(const RecordOperation& record) const {
    WorkPtr work = make_record_work(parts, *record.event);
    record.event->recorded = work;
    record.event->capture.reset();
    return work;
  }
  WorkPtr operator()(const WaitOperation& wait) const {
    return WorkGraph::make(fmt::format("wait for event {}", wait.event->id), nullptr);
  }
  WorkPtr operator()(const ClaimOperation& claim) const {
    return make_claim_work(parts, context, claim);
  }
  WorkPtr operator()(const FreeOperation& free) const {
    return make_free_work(parts, context, free);
  }
  WorkPtr operator()(const AllocateOperation&) const {
    return WorkGraph::make("allocation", nullptr);
  }
  WorkPtr operator()(const ChildOperation&) const {
    return WorkGraph::make("child graph", nullptr);
  }
  WorkPtr operator()(const CollectiveOperation& collective) const {
    const auto place = parts.nccl.find(collective.calls.front().comm, context.process->index);
    WorkPtr work = place ? parts.nccl.post(*place, collective.calls).work : nullptr;
    // A call that cannot be replayed has broken its communicator, which says so when asked.
    return work != nullptr ? work : WorkGraph::make("NCCL call that failed", nullptr);
  }
};

}  // namespace

Parsed Operations::parse_copy(Session& session, const wire::Copy& request) const {
  for (const wire::CopyEnd* end : {&request.to, &request.from}) {
    if (const std::int32_t status = check_end(parts_, session, request, *end); status != 0) {
      if (parts_.check != nullptr && request.height == 1 && request.depth == 1) {
        parts_.check->on_bad_copy(*end, request.width, session.process->rank);
      }
      return {status, {}};
    }
  }
  CopyOperation copy{.to = request.to,
                     .from = request.from,
                     .width = request.width,
                     .height = request.height,
                     .depth = request.depth,
                     .session = session.number(),
                     .staged = nullptr};
  if (VariedInputs* inputs = parts_.devices.varied_inputs()) {
    copy.is_input = inputs->note_copy(device_of(parts_.devices, request.from),
                                      device_of(parts_.devices, request.to));
    if (copy.is_input && request.from.where == wire::CopyEnd::kBounce) {
      inputs->apply(session.bounce().subspan(request.from.address, copy.bytes()));
    }
  }
  if (request.from.where == wire::CopyEnd::kBounce && request.wait == 0) {
    // The thread goes on and may overwrite its buffer.
    const auto bytes = session.bounce().subspan(request.from.address, copy.bytes());
    copy.staged = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  }
  return {wire::kSuccess, std::move(copy)};
}

Parsed Operations::parse_fill(const Process& process, const wire::Fill& request) const {
  const std::uint32_t unit = request.element_bytes;
  if ((unit != 1 && unit != 2 && unit != 4) || request.width > kSane) {
    return {wire::kInvalidValue, {}};
  }
  const auto extent =
      extent_of(request.width * unit, request.height, request.depth, request.pitch, request.slice);
  if (!extent ||
      (*extent != 0 && !parts_.allocations.accessible(process, request.address, *extent))) {
    return {wire::kInvalidValue, {}};
  }
  return {wire::kSuccess, FillOperation{.address = request.address,
                                        .pitch = request.pitch,
                                        .slice = request.slice,
                                        .width = request.width,
                                        .height = *extent == 0 ? 0 : request.height,
                                        .depth = request.depth,
                                        .value = request.value,
                                        .element_bytes = unit}};
}

Parsed Operations::parse(Session& session, std::uint32_t type, wire::Bytes payload) const {
  switch (type) {
    case 0:
      return {};
    case wire::Launch::kType:
      return parse_as<wire::Launch>(payload, [&](const auto& request, wire::Bytes tail) {
        return parse_launch(session, request, tail);
      });
    case wire::Copy::kType:
      return parse_as<wire::Copy>(
          payload, [&](const auto& request, wire::Bytes) { return parse_copy(session, request); });
    case wire::Fill::kType:
      return parse_as<wire::Fill>(payload, [&](const auto& request, wire::Bytes) {
        return parse_fill(*session.process, request);
      });
    case wire::HostFunction::kType:
      return parse_as<wire::HostFunction>(payload, [&](const auto& request, wire::Bytes) {
        return Parsed{wire::kSuccess,
                      HostOperation{.function = request.function, .argument = request.argument}};
      });
    case wire::EventRecord::kType:
      return parse_as<wire::EventRecord>(payload, [&](const auto& request, wire::Bytes) {
        return parse_event(session, request.event, true);
      });
    case wire::StreamWaitEvent::kType:
      return parse_as<wire::StreamWaitEvent>(payload, [&](const auto& request, wire::Bytes) {
        return parse_event(session, request.event, false);
      });
    case wire::FreeAsync::kType:
      return parse_as<wire::FreeAsync>(payload, [&](const auto& request, wire::Bytes) {
        return parse_free(parts_, *session.process, request.address);
      });
    case wire::GraphLaunch::kType:
      return parse_as<wire::GraphLaunch>(payload, [&](const auto& request, wire::Bytes) {
        return parse_child(parts_.ids, *session.process, request.exec);
      });
    default:
      return {wire::kInvalidValue, {}};
  }
}

std::string describe(const Operation& operation) {
  if (const auto* kernel = std::get_if<KernelOperation>(&operation)) {
    return "kernel " + kernel->function->name;
  }
  if (const auto* copy = std::get_if<CopyOperation>(&operation)) {
    return fmt::format("copy of {} bytes", copy->bytes());
  }
  if (const auto* collective = std::get_if<CollectiveOperation>(&operation)) {
    return fmt::format("{} NCCL call(s)", collective->calls.size());
  }
  return "operation";
}

Parsed Operations::parse_launch(Session& session,
                                const wire::Launch& request,
                                wire::Bytes arguments) const {
  return vcluster::parse_launch(parts_, session, request, arguments);
}

WorkPtr Operations::make_work(Context& context, Operation operation) const {
  return std::visit(WorkMaker{parts_, context}, std::move(operation));
}

Operations::Enqueued Operations::enqueue(Stream& stream, Operation operation) const {
  Context& context = *stream.context;
  WorkPtr also;
  if (auto* kernel = std::get_if<KernelOperation>(&operation)) kernel->priority = stream.priority;
  if (const auto* wait = std::get_if<WaitOperation>(&operation)) {
    if (stream.capture == nullptr) join_capture(stream, *wait->event);
    also = wait->event->recorded;
  }
  if (stream.capture != nullptr) return {capture_operation(stream, std::move(operation)), nullptr};
  // Work of the legacy stream would wait for the capturing one, which cannot be captured.
  if (stream.is_legacy) {
    for (const Stream* other : context.streams.all()) {
      if (other->capture == nullptr || other->non_blocking) continue;
      invalidate(*other->capture);
      return {wire::kStreamCaptureImplicit, nullptr};
    }
  }
  const WorkPtr work = make_work(context, std::move(operation));
  context.streams.submit(stream, work, {&also, 1});
  return {wire::kSuccess, work};
}

}  // namespace cuco::vcluster
