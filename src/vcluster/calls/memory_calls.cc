// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/allocations.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"
#include "vcluster/host/sessions.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

void handle_allocate(const GraphParts& parts, Session& session, const wire::Allocate& request) {
  if (request.kind == wire::MemoryKind::Unknown || request.kind > wire::MemoryKind::Managed) {
    return session.refuse("memory of an unknown kind");
  }
  if (Capture* capture = forbidding_capture(*session.process, session.thread)) {
    invalidate(*capture);
    return session.reply(wire::kStreamCaptureUnsupported);
  }
  const Context* context = parts.processes.context(*session.process, request.device);
  // After a trap every call fails until the device is reset.
  if (context != nullptr && context->error != 0) {
    return reply_status(session, context, wire::kSuccess);
  }
  const auto made = parts.allocations.make(*session.process, request);
  session.reply_with(made.status, wire::Allocate::Reply{.address = made.address});
}

void handle_free(const GraphParts& parts,
                 const Sessions& sessions,
                 Session& session,
                 const wire::Free& request) {
  const Allocation* allocation = parts.allocations.find(request.address);
  const bool wants_host = request.kind == wire::MemoryKind::Host;
  if (allocation == nullptr || allocation->process != session.process->index ||
      (allocation->kind == wire::MemoryKind::Host) != wants_host) {
    if (parts.check != nullptr && allocation == nullptr && !wants_host)
      parts.check->freed_again("cudaFree", request.address);
    return session.reply(wire::kInvalidValue);
  }
  session.park(CallWait{"the end of all work before memory is freed (cudaFree)"});
  const auto works = session.process->unfinished();
  const auto call = parts.works.host.call;
  parts.works.when_done(works, [parts, &sessions, works, number = session.number(), request, call] {
    wire::Free::Reply reply;
    // Two threads may free the same memory: the second finds it gone.
    const Allocation* left = parts.allocations.find(request.address);
    Session* waiting = sessions.find(number);
    if (waiting != nullptr) waiting->learn(works);
    if (left != nullptr && !return_graph_memory(parts.allocations, request.address)) {
      reply.bytes = left->bytes;
      if (parts.check != nullptr && waiting != nullptr) {
        parts.check->given_back(request.address, left->bytes,
                                parts.check->rank_of(*waiting->process, left->device),
                                {waiting->known, call});
      }
      parts.allocations.erase(request.address);
      parts.allocations.release(request.address, call);
    }
    if (waiting != nullptr) waiting->reply_with(wire::kSuccess, reply);
  });
}

void allocate_async(const GraphParts& parts, Session& session, const wire::AllocateAsync& request) {
  Stream* stream =
      parts.processes.stream(session, {.stream = request.stream, .device = request.device});
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  if (stream->capture != nullptr) {
    const GraphPlace place{*stream->capture->graph, stream->capture_tail};
    const Parsed parsed = parse_graph_allocation(parts, *session.process, place, request);
    if (parsed.status != wire::kSuccess) return session.reply(parsed.status);
    const std::uint64_t address = std::get<AllocateOperation>(parsed.operation).memory->address();
    const auto result = parts.operations.enqueue(*stream, parsed.operation);
    return session.reply_with(result.status, wire::AllocateAsync::Reply{.address = address});
  }
  const auto made =
      parts.allocations.make(*session.process, {.device = request.device, .bytes = request.bytes});
  if (made.status == wire::kSuccess) {
    parts.allocations.find(made.address)->pool = request.pool == 0 ? kDefaultPool : request.pool;
    // A piece that stands for the allocation keeps its place in the stream visible to the checker.
    if (parts.check != nullptr) {
      const auto result =
          parts.operations.enqueue(*stream, ClaimOperation{made.address, request.bytes});
      if (result.status != wire::kSuccess) return session.reply(result.status);
    }
  }
  session.reply_with(made.status, wire::AllocateAsync::Reply{.address = made.address});
}

void free_async(const GraphParts& parts, Session& session, const wire::FreeAsync& request) {
  Stream* stream =
      parts.processes.stream(session, {.stream = request.stream, .device = request.device});
  if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
  const Allocation* allocation = parts.allocations.find(request.address);
  if (allocation == nullptr || allocation->process != session.process->index) {
    return session.reply(wire::kInvalidValue);
  }
  if (stream->capture == nullptr) return_graph_memory(parts.allocations, request.address);
  const auto result = parts.operations.enqueue(*stream, FreeOperation{request.address});
  reply_status(session, stream->context, result.status);
}

void find(const Allocations& allocations,
          const vgpu::Memory& memory,
          Session& session,
          const wire::FindAllocation& request) {
  wire::FindAllocation::Reply reply;
  if (const Allocation* allocation = allocations.holder(request.address, &reply.base)) {
    reply.kind = allocation->kind;
    reply.device = allocation->device;
    reply.bytes = allocation->bytes;
    reply.flags = allocation->flags;
  } else if (const auto known = memory.find_allocation(request.address)) {
    // A module's variable.
    reply.kind =
        request.address >= vgpu::kHostBase ? wire::MemoryKind::Managed : wire::MemoryKind::Device;
    reply.device = memory.granule(request.address).owner;
    reply.base = known->base;
    reply.bytes = known->bytes;
  }
  session.reply_with(wire::kSuccess, reply);
}

}  // namespace

void register_memory_calls(Dispatcher& dispatcher,
                           const GraphParts& parts,
                           const Sessions& sessions,
                           const vgpu::Memory& memory) {
  dispatcher.on<wire::Allocate>([parts](Session& session, const wire::Allocate& request,
                                        wire::Bytes) { handle_allocate(parts, session, request); });
  dispatcher.on<wire::Free>(
      [parts, &sessions](Session& session, const wire::Free& request, wire::Bytes) {
        handle_free(parts, sessions, session, request);
      });
  dispatcher.on<wire::AllocateAsync>(
      [parts](Session& session, const wire::AllocateAsync& request, wire::Bytes) {
        allocate_async(parts, session, request);
      });
  dispatcher.on<wire::FreeAsync>([parts](Session& session, const wire::FreeAsync& request,
                                         wire::Bytes) { free_async(parts, session, request); });
  dispatcher.on<wire::FindAllocation>(
      [parts, &memory](Session& session, const wire::FindAllocation& request, wire::Bytes) {
        find(parts.allocations, memory, session, request);
      });
}

}  // namespace cuco::vcluster
