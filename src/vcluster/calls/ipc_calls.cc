// SPDX-License-Identifier: Apache-2.0
// Memory and events shared between processes. A handle holds a number and a check value; only this
// server can turn it back, and only while the exporter has not freed it.
#include <map>
#include <memory>

#include "shims/wire/messages_memory.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/allocations.h"
#include "vcluster/host/processes.h"

namespace cuco::vcluster {
namespace {

struct IpcParts {
  Allocations& allocations;
  Processes& processes;
  const fabric::Topology& topology;
  std::map<std::uint64_t, std::weak_ptr<Event>>& shared_events;
};

std::uint64_t check_of(std::uint64_t value) {
  value ^= 0x5CUL << 56U;
  value *= 0x9E3779B97F4A7C15ULL;
  return value ^ (value >> 31U);
}

void export_object(const IpcParts& parts, Session& session, const wire::IpcExport& request) {
  wire::IpcExport::Reply reply;
  std::uint64_t object = request.object;
  if (request.what == wire::IpcExport::kMemory) {
    const Allocation* allocation = parts.allocations.holder(request.object, &object);
    if (allocation == nullptr || allocation->process != session.process->index ||
        allocation->kind != wire::MemoryKind::Device) {
      return session.reply(wire::kInvalidValue);
    }
    reply.offset = request.object - object;
  } else {
    const auto found = session.process->events.find(request.object);
    if (found == session.process->events.end() || !found->second->interprocess) {
      return session.reply(wire::kInvalidResourceHandle);
    }
    parts.shared_events[object] = found->second;
  }
  reply.handle[0] = object;
  reply.handle[1] = check_of(object);
  session.reply_with(wire::kSuccess, reply);
}

void open_object(const IpcParts& parts, Session& session, const wire::IpcOpen& request) {
  const std::uint64_t object = request.handle[0];
  if (request.handle[1] != check_of(object)) return session.reply(wire::kInvalidValue);
  Context* context = parts.processes.context(*session.process, request.device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  if (request.what == wire::IpcExport::kEvent) {
    const auto found = parts.shared_events.find(object);
    const EventPtr event = found != parts.shared_events.end() ? found->second.lock() : nullptr;
    if (event == nullptr) return session.reply(wire::kInvalidResourceHandle);
    session.process->events[object] = event;
  } else {
    Allocation* allocation = parts.allocations.find(object);
    // CUDA does not open a process's own handle.
    if (allocation == nullptr || allocation->process == session.process->index) {
      return session.reply(wire::kInvalidValue);
    }
    const std::int32_t owner = allocation->device;
    if (owner != request.device && !parts.topology.same_domain(owner, request.device)) {
      return session.reply(wire::kPeerAccessUnsupported);
    }
    ++allocation->imports;
    context->peers |= std::uint64_t{1} << static_cast<unsigned>(owner);
  }
  session.reply_with(wire::kSuccess, wire::IpcOpen::Reply{.object = object});
}

}  // namespace

void register_ipc_calls(Dispatcher& dispatcher,
                        Allocations& allocations,
                        Processes& processes,
                        const fabric::Topology& topology) {
  // Exported events, shared by the two handlers alone.
  const auto events = std::make_shared<std::map<std::uint64_t, std::weak_ptr<Event>>>();
  const auto parts_of = [&allocations, &processes, &topology, events] {
    return IpcParts{allocations, processes, topology, *events};
  };
  dispatcher.on<wire::IpcExport>(
      [parts_of](Session& session, const wire::IpcExport& request, wire::Bytes) {
        export_object(parts_of(), session, request);
      });
  dispatcher.on<wire::IpcOpen>(
      [parts_of](Session& session, const wire::IpcOpen& request, wire::Bytes) {
        open_object(parts_of(), session, request);
      });
  dispatcher.on<wire::IpcClose>(
      [&allocations](Session& session, const wire::IpcClose& request, wire::Bytes) {
        Allocation* allocation = allocations.find(request.address);
        if (allocation == nullptr || allocation->imports == 0) {
          return session.reply(wire::kInvalidValue);
        }
        --allocation->imports;
        session.reply(wire::kSuccess);
      });
}

}  // namespace cuco::vcluster
