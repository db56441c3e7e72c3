// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/allocate.h"
#include "vcluster/core/cluster.h"
#include "vcluster/core/operation.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

/// cudaMalloc promises 256; 512 is what it gives.
constexpr std::uint64_t kDeviceAlignment = 512;
constexpr std::uint64_t kPage = 4096;
/// Between allocations of a checked run: an index that runs a little too far meets nobody else's.
constexpr std::uint64_t kGuard = std::uint64_t{64} << 10U;

void tell_check(Cluster& cluster,
                const Process& process,
                const wire::Allocate& request,
                std::uint64_t address) {
  const int rank = cluster.check->rank_of(process, request.device);
  if (request.kind == wire::MemoryKind::Device) {
    return cluster.check->allocated(address, request.bytes, "cudaMalloc", rank);
  }
  // The host writes it unseen.
  cluster.check->allocated_written(
      address, request.bytes,
      request.kind == wire::MemoryKind::Managed ? "cudaMallocManaged" : "cudaMallocHost", rank);
}

}  // namespace

Made allocate(Cluster& cluster, Process& process, const wire::Allocate& request) {
  if (!process.sees(request.device)) return {wire::kInvalidDevice, 0};
  const bool on_device = request.kind == wire::MemoryKind::Device;
  if (cluster.judged && !on_device) return {wire::kNotSupported, 0};
  const auto device = static_cast<unsigned>(request.device);
  const std::uint64_t capacity = cluster.options.gpu.memory_bytes;
  const std::uint64_t used = cluster.memory->allocated_bytes(device);
  if (on_device && (used > capacity || request.bytes > capacity - used)) {
    return {wire::kMemoryAllocation, 0};
  }
  if (request.bytes > vgpu::kHostStride) return {wire::kMemoryAllocation, 0};
  // Host memory is mapped by the process page by page.
  const auto address =
      on_device ? cluster.memory->allocate(device, request.bytes + (cluster.check ? kGuard : 0),
                                           kDeviceAlignment)
                : cluster.memory->allocate_host(process.index,
                                                (request.bytes + kPage - 1) / kPage * kPage, kPage);
  if (!address) return {wire::kMemoryAllocation, 0};
  cluster.allocations[*address] = {.bytes = request.bytes,
                                   .kind = request.kind,
                                   .device = request.device,
                                   .flags = request.flags,
                                   .process = process.index};
  if (cluster.check) tell_check(cluster, process, request, *address);
  return {wire::kSuccess, *address};
}

std::vector<WorkPtr> unfinished_works(Process& process) {
  std::vector<WorkPtr> works;
  for (const auto& [device, context] : process.contexts) {
    const auto more = context->streams.unfinished();
    works.insert(works.end(), more.begin(), more.end());
  }
  return works;
}

namespace {

void handle_allocate(Cluster& cluster, Session& session, const wire::Allocate& request) {
  if (request.kind == wire::MemoryKind::Unknown || request.kind > wire::MemoryKind::Managed) {
    return session.refuse("memory of an unknown kind");
  }
  if (Capture* capture = forbidding_capture(*session.process, session.thread)) {
    invalidate(*capture);
    return session.reply(wire::kStreamCaptureUnsupported);
  }
  const Context* context = cluster.context(*session.process, request.device);
  if (context != nullptr && context->error != 0) {
    return cluster.reply_status(session, context, wire::kSuccess);
  }
  const Made made = allocate(cluster, *session.process, request);
  session.reply_with(made.status, wire::Allocate::Reply{.address = made.address});
}

void handle_free(Cluster& cluster, Session& session, const wire::Free& request) {
  const auto found = cluster.allocations.find(request.address);
  const bool wants_host = request.kind == wire::MemoryKind::Host;
  if (found == cluster.allocations.end() || found->second.process != session.process->index ||
      (found->second.kind == wire::MemoryKind::Host) != wants_host) {
    return session.reply(wire::kInvalidValue);
  }
  session.park(CallWait{"the end of all work before memory is freed (cudaFree)"});
  const auto works = unfinished_works(*session.process);
  const auto call = cluster.works.host.call;
  cluster.works.when_done(works, [&cluster, works, number = session.number(), request, call] {
    wire::Free::Reply reply;
    const auto again = cluster.allocations.find(request.address);
    if (again != cluster.allocations.end() && !return_graph_memory(cluster, request.address)) {
      reply.bytes = again->second.bytes;
      cluster.allocations.erase(again);
      if (cluster.check) {
        cluster.check->freed(request.address, call);
      } else {
        cluster.release(request.address);
      }
    }
    if (Session* waiting = cluster.find_session(number)) {
      waiting->learn(works);
      waiting->reply_with(wire::kSuccess, reply);
    }
  });
}

void allocate_async(Cluster& cluster, Session& session, const wire::AllocateAsync& request) {
  Stream* stream = cluster.stream(session, {.stream = request.stream, .device = request.device});
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (stream->capture != nullptr) {
    const GraphPlace place{*stream->capture->graph, stream->capture_tail};
    const Parsed parsed = parse_graph_allocation(cluster, *session.process, place, request);
    if (parsed.status != wire::kSuccess) return session.reply(parsed.status);
    const std::uint64_t address = std::get<AllocateOperation>(parsed.operation).memory->address();
    const Enqueued result = enqueue(cluster, *stream, parsed.operation);
    return session.reply_with(result.status, wire::AllocateAsync::Reply{.address = address});
  }
  const Made made =
      allocate(cluster, *session.process, {.device = request.device, .bytes = request.bytes});
  if (made.status == wire::kSuccess) {
    cluster.allocations[made.address].pool = request.pool == 0 ? kDefaultPool : request.pool;
    // A piece that stands for the allocation keeps its place in the stream visible to the checker.
    if (cluster.check) {
      const Enqueued result =
          enqueue(cluster, *stream, ClaimOperation{made.address, request.bytes});
      if (result.status != wire::kSuccess) return session.reply(result.status);
    }
  }
  session.reply_with(made.status, wire::AllocateAsync::Reply{.address = made.address});
}

void free_async(Cluster& cluster, Session& session, const wire::FreeAsync& request) {
  Stream* stream = cluster.stream(session, {.stream = request.stream, .device = request.device});
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  const auto found = cluster.allocations.find(request.address);
  if (found == cluster.allocations.end() || found->second.process != session.process->index) {
    return session.reply(wire::kInvalidValue);
  }
  if (stream->capture == nullptr) return_graph_memory(cluster, request.address);
  const Enqueued result = enqueue(cluster, *stream, FreeOperation{request.address});
  cluster.reply_status(session, stream->context, result.status);
}

void find(Cluster& cluster, Session& session, const wire::FindAllocation& request) {
  wire::FindAllocation::Reply reply;
  if (const Allocation* allocation = cluster.find_allocation(request.address, &reply.base)) {
    reply.kind = allocation->kind;
    reply.device = allocation->device;
    reply.bytes = allocation->bytes;
    reply.flags = allocation->flags;
  } else if (const auto known = cluster.memory->find_allocation(request.address)) {
    // A module's variable.
    reply.kind =
        request.address >= vgpu::kHostBase ? wire::MemoryKind::Managed : wire::MemoryKind::Device;
    reply.device = cluster.memory->granule(request.address).owner;
    reply.base = known->base;
    reply.bytes = known->bytes;
  }
  session.reply_with(wire::kSuccess, reply);
}

}  // namespace

void register_memory_calls(Cluster& cluster) {
  Dispatcher& dispatcher = cluster.dispatcher;
  dispatcher.on<wire::Allocate>(
      [&cluster](Session& session, const wire::Allocate& request, wire::Bytes) {
        handle_allocate(cluster, session, request);
      });
  dispatcher.on<wire::Free>([&cluster](Session& session, const wire::Free& request, wire::Bytes) {
    handle_free(cluster, session, request);
  });
  dispatcher.on<wire::AllocateAsync>(
      [&cluster](Session& session, const wire::AllocateAsync& request, wire::Bytes) {
        allocate_async(cluster, session, request);
      });
  dispatcher.on<wire::FreeAsync>(
      [&cluster](Session& session, const wire::FreeAsync& request, wire::Bytes) {
        free_async(cluster, session, request);
      });
  dispatcher.on<wire::FindAllocation>([&cluster](Session& session,
                                                 const wire::FindAllocation& request,
                                                 wire::Bytes) { find(cluster, session, request); });
}

}  // namespace cuco::vcluster
