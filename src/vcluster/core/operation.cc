// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/operation.h"

#include <utility>

#include <fmt/format.h>

#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/core/cluster.h"
#include "vcluster/device/device_copy.h"
#include "vcluster/device/kernel_launch.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {
namespace {

/// No honest size is larger; below it sums and products of four cannot overflow.
constexpr std::uint64_t kSane = std::uint64_t{1} << 40U;

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

std::int32_t check_end(const Cluster& cluster,
                       const Session& session,
                       const wire::Copy& request,
                       const wire::CopyEnd& end) {
  const auto extent = extent_of(request.width, request.height, request.depth, end.pitch, end.slice);
  if (!extent) return wire::kInvalidValue;
  const std::uint64_t packed = request.width * request.height * request.depth;
  switch (end.where) {
    case wire::CopyEnd::kServer:
      if (request.height > 1 && end.pitch < request.width) return wire::kInvalidPitchValue;
      return cluster.accessible(*session.process, end.address, *extent) ? wire::kSuccess
                                                                        : wire::kInvalidValue;
    case wire::CopyEnd::kBounce:
      return end.address <= session.bounce.size() && packed <= session.bounce.size() - end.address
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

Parsed parse_free(const Cluster& cluster, const Process& process, std::uint64_t address) {
  const auto found = cluster.allocations.find(address);
  if (found == cluster.allocations.end() || found->second.process != process.index) {
    return {wire::kInvalidValue, {}};
  }
  return {wire::kSuccess, FreeOperation{address}};
}

WorkPtr make_host_work(Cluster& cluster, Context& context, const HostOperation& host) {
  return WorkGraph::make("host function", [&cluster, &context, host](const WorkPtr& work) {
    // A stream callback is told of an error; a host function is not called at all after one.
    if (context.error != 0 && !host.is_stream_callback) {
      return cluster.works.finish(work, cluster.timeline.now());
    }
    ServiceJob job;
    job.request.kind =
        host.is_stream_callback ? wire::NextService::kStreamCallback : wire::NextService::kCallback;
    job.request.function = host.function;
    job.request.argument = host.argument;
    job.request.stream = host.stream;
    job.request.status = context.error;
    job.prepare = [work](Session& service) { service.learn(work->known); };
    job.done = [&cluster, work](Session& service) {
      work->known = check::Clock::join(work->known, service.known);
      cluster.works.finish(work, service.clock());
    };
    cluster.ask_process(*context.process, std::move(job));
  });
}

WorkPtr make_free_work(Cluster& cluster, Context& context, const FreeOperation& free) {
  return WorkGraph::make("free", [&cluster, &context, free](const WorkPtr& work) {
    const auto found = cluster.allocations.find(free.address);
    if (found != cluster.allocations.end() && found->second.graph == nullptr &&
        !found->second.orphaned) {
      const std::uint64_t bytes = found->second.bytes;
      cluster.allocations.erase(found);
      if (cluster.check) {
        cluster.check->on_stream_free(*work, context, free, bytes);
      } else {
        cluster.release(free.address);
      }
    }
    cluster.works.finish(work, cluster.timeline.now());
  });
}

WorkPtr make_claim_work(Cluster& cluster, Context& context, const ClaimOperation& claim) {
  return WorkGraph::make("cudaMallocAsync", [&cluster, &context, claim](const WorkPtr& work) {
    if (cluster.check) cluster.check->on_stream_allocate(*work, context, claim);
    cluster.works.finish(work, cluster.timeline.now());
  });
}

struct WorkMaker {
  Cluster& cluster;
  Context& context;

  WorkPtr operator()(std::monostate) const { return WorkGraph::make("empty node", nullptr); }
  WorkPtr operator()(KernelOperation kernel) const {
    return make_kernel_work(cluster, context, std::move(kernel));
  }
  WorkPtr operator()(CopyOperation copy) const {
    return make_copy_work(cluster, context, std::move(copy));
  }
  WorkPtr operator()(const FillOperation& fill) const {
    return make_fill_work(cluster, context, fill);
  }
  WorkPtr operator()(const HostOperation& host) const {
    return make_host_work(cluster, context, host);
  }
  WorkPtr operator()(const RecordOperation& record) const {
    WorkPtr work = WorkGraph::make(fmt::format("record of event {}", record.event->id), nullptr);
    record.event->recorded = work;
    record.event->capture.reset();
    return work;
  }
  WorkPtr operator()(const WaitOperation& wait) const {
    return WorkGraph::make(fmt::format("wait for event {}", wait.event->id), nullptr);
  }
  WorkPtr operator()(const ClaimOperation& claim) const {
    return make_claim_work(cluster, context, claim);
  }
  WorkPtr operator()(const FreeOperation& free) const {
    return make_free_work(cluster, context, free);
  }
  WorkPtr operator()(const AllocateOperation&) const {
    return WorkGraph::make("allocation", nullptr);
  }
  WorkPtr operator()(const ChildOperation&) const {
    return WorkGraph::make("child graph", nullptr);
  }
  WorkPtr operator()(const CollectiveOperation& collective) const {
    const auto place = cluster.nccl().find(collective.calls.front().comm, context.process->index);
    WorkPtr work = place ? cluster.nccl().post(*place, collective.calls).work : nullptr;
    // A call that cannot be replayed has broken its communicator, which says so when asked.
    return work != nullptr ? work : WorkGraph::make("NCCL call that failed", nullptr);
  }
};

}  // namespace

Parsed parse_copy(Cluster& cluster, Session& session, const wire::Copy& request) {
  for (const wire::CopyEnd* end : {&request.to, &request.from}) {
    if (const std::int32_t status = check_end(cluster, session, request, *end); status != 0) {
      if (cluster.check && request.height == 1 && request.depth == 1) {
        cluster.check->on_bad_copy(*end, request.width, session.process->rank);
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
  if (request.from.where == wire::CopyEnd::kBounce && request.wait == 0) {
    // The thread goes on and may overwrite its buffer.
    const auto bytes = session.bounce.subspan(request.from.address, copy.bytes());
    copy.staged = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  }
  return {wire::kSuccess, std::move(copy)};
}

Parsed parse_fill(Cluster& cluster, const Process& process, const wire::Fill& request) {
  const std::uint32_t unit = request.element_bytes;
  if ((unit != 1 && unit != 2 && unit != 4) || request.width > kSane) {
    return {wire::kInvalidValue, {}};
  }
  const auto extent =
      extent_of(request.width * unit, request.height, request.depth, request.pitch, request.slice);
  if (!extent || (*extent != 0 && !cluster.accessible(process, request.address, *extent))) {
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

Parsed parse_operation(Cluster& cluster,
                       Session& session,
                       std::uint32_t type,
                       wire::Bytes payload) {
  switch (type) {
    case 0:
      return {};
    case wire::Launch::kType:
      return parse_as<wire::Launch>(payload, [&](const auto& request, wire::Bytes tail) {
        return parse_launch(cluster, session, request, tail);
      });
    case wire::Copy::kType:
      return parse_as<wire::Copy>(payload, [&](const auto& request, wire::Bytes) {
        return parse_copy(cluster, session, request);
      });
    case wire::Fill::kType:
      return parse_as<wire::Fill>(payload, [&](const auto& request, wire::Bytes) {
        return parse_fill(cluster, *session.process, request);
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
        return parse_free(cluster, *session.process, request.address);
      });
    case wire::GraphLaunch::kType:
      return parse_as<wire::GraphLaunch>(payload, [&](const auto& request, wire::Bytes) {
        return parse_child(cluster, *session.process, request.exec);
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

WorkPtr make_work(Cluster& cluster, Context& context, Operation operation) {
  return std::visit(WorkMaker{cluster, context}, std::move(operation));
}

Enqueued enqueue(Cluster& cluster, Stream& stream, Operation operation) {
  Context& context = *stream.context;
  WorkPtr also;
  if (const auto* wait = std::get_if<WaitOperation>(&operation)) {
    if (stream.capture == nullptr) join_capture(stream, *wait->event);
    also = wait->event->recorded;
  }
  if (stream.capture != nullptr) return {capture_operation(stream, std::move(operation)), nullptr};
  if (stream.is_legacy) {
    for (const Stream* other : context.streams.all()) {
      if (other->capture == nullptr || other->non_blocking) continue;
      invalidate(*other->capture);
      return {wire::kStreamCaptureImplicit, nullptr};
    }
  }
  const WorkPtr work = make_work(cluster, context, std::move(operation));
  context.streams.submit(stream, work, {&also, 1});
  return {wire::kSuccess, work};
}

}  // namespace cuco::vcluster
