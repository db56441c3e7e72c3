// SPDX-License-Identifier: Apache-2.0
// Host threads: greeting, clocks, what they wait for, and what the server asks them to do.
#include <algorithm>
#include <string>

#include "shims/wire/messages_accesses.h"
#include "shims/wire/messages_host.h"
#include "shims/wire/status.h"
#include "system/memory/shared_memory.h"
#include "system/os/streams.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/process_identity.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/repeat_notice.h"
#include "vcluster/host/sessions.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kMaxBounceBytes = std::uint64_t{1} << 30U;

void hello(const HostParts& parts, Session& session, const wire::Hello& request, wire::Bytes tail) {
  if (tail.size() > 4096) return session.refuse("a program name of more than 4096 bytes");
  session.pid = process_identity(session.pid, request);
  Process* process = parts.processes.join(session.pid, std::string(wire::text_of(tail)));
  if (process == nullptr) return session.refuse("too many processes");
  const auto host = parts.devices.memory().host_fd(process->index);
  if (!host) return session.refuse(host.error().message());
  session.process = process;
  session.tid = request.tid;
  session.thread = process->threads++;
  session.is_service = request.role == wire::Hello::kService;
  if (session.is_service) process->service = &session;
  if (request.rank >= 0 && process->rank < 0) {
    process->rank = request.rank;
    parts.processes.place_on_node(*process);
  }
  if (request.born_at >= 0) session.set_clock(request.born_at);
  if (!parts.devices.schedule().is_plain()) {
    session.set_clock(session.clock() +
                      parts.devices.adversary().host_skew(process->rank, session.thread));
  }
  if (parts.check != nullptr) {
    // Some thread of the process made it.
    for (const auto& [number, other] : parts.sessions.all()) {
      if (other->process == process) session.learn(other->known);
    }
  }
  ++process->sessions;

  wire::Hello::Reply reply;
  reply.process = process->index;
  reply.thread = session.thread;
  reply.node = process->node;
  reply.changes_inputs = parts.devices.varied_inputs() != nullptr ? 1 : 0;
  reply.device_count =
      static_cast<std::uint32_t>(std::min<std::size_t>(process->devices.size(), wire::kMaxDevices));
  std::copy_n(process->devices.begin(), reply.device_count, reply.devices);
  reply.device_base = vgpu::kDeviceBase;
  reply.device_end = vgpu::kHostBase;
  reply.host_base = vgpu::host_base(process->index);
  reply.host_bytes = vgpu::kHostStride;
  session.reply_with(wire::kSuccess, reply, {}, *host);
}

void attach_bounce(Session& session, const wire::AttachBounce& request) {
  const system::Fd file(session.take_fd().release());
  const auto size = system::size_of(file.get());
  if (!size) return session.refuse("no bounce buffer");
  if (request.bytes == 0 || request.bytes > kMaxBounceBytes || *size < request.bytes) {
    return session.refuse("a bounce buffer of the wrong size");
  }
  if (system::may_shrink(file)) return session.refuse("a bounce buffer that may shrink");
  auto mapping = system::Mapping::map(file, request.bytes, system::Access::ReadWrite);
  if (!mapping) return session.reply(wire::kMemoryAllocation);
  session.set_bounce(*std::move(mapping));
  session.reply(wire::kSuccess);
}

void next_service(Session& session, const wire::NextService& request) {
  Process& process = *session.process;
  if (!session.is_service) return session.refuse("only a service thread may ask for work");
  session.become_idle();
  const auto found = process.jobs_out.find(request.finished_ticket);
  if (found != process.jobs_out.end()) {
    const ServiceJob job = std::move(found->second);
    process.jobs_out.erase(found);
    job.done(session);
  } else if (request.finished_ticket != 0) {
    return session.refuse("a service ticket that was never given");
  }
  Processes::serve_jobs(process);
}

void fetch_output(Session& session) {
  auto& output = session.process->output;
  if (output.empty()) return session.reply_with(wire::kSuccess, wire::FetchOutput::Reply{});
  const DeviceOutput piece = std::move(output.front());
  output.pop_front();
  session.process->copied_to_host += piece.text.size();
  session.reply_with(wire::kSuccess, wire::FetchOutput::Reply{.stream = piece.stream},
                     wire::bytes_of_text(piece.text));
}

void host_accesses(const HostParts& parts,
                   Session& session,
                   const wire::HostAccesses& request,
                   wire::Bytes tail) {
  const auto accesses =
      wire::read_array<wire::HostAccess>(tail, tail.size() / sizeof(wire::HostAccess));
  if (parts.check != nullptr && accesses) parts.check->on_host_accesses(session, *accesses);
  if (request.is_answered != 0) session.acknowledge();
}

}  // namespace

void register_host_calls(Dispatcher& dispatcher, const HostParts& parts) {
  dispatcher.on<wire::Hello>([parts](Session& session, const wire::Hello& request,
                                     wire::Bytes tail) { hello(parts, session, request, tail); },
                             Turn::AtOnce, 0);
  dispatcher.on<wire::Goodbye>([](Session& session, const wire::Goodbye&,
                                  wire::Bytes) { session.process->said_goodbye = true; },
                               Turn::OneWay, 0);
  dispatcher.on<wire::AttachBounce>([](Session& session, const wire::AttachBounce& request,
                                       wire::Bytes) { attach_bounce(session, request); },
                                    Turn::AtOnce, 0);
  dispatcher.on<wire::Park>(
      [parts](Session& session, const wire::Park& request, wire::Bytes) {
        session.go_outside(HostThreadWait{request.kind});
        if (request.kind == wire::HostWait::Io) parts.repeat_notice.give(session);
      },
      Turn::OneWay, 0);
  dispatcher.on<wire::Unpark>(
      [parts](Session& session, const wire::Unpark& request, wire::Bytes) {
        // Messages are matched by name before they move; what else wakes a thread is not seen.
        const auto* wait = std::get_if<HostThreadWait>(&session.waits_for());
        const bool is_message = wait != nullptr && wait->kind == wire::HostWait::MessagePassing;
        if (parts.check != nullptr && !is_message) parts.check->learn_from_all(session);
        session.come_back(request.woken_at);
      },
      Turn::OneWay, 0);
  dispatcher.on<wire::NextService>([](Session& session, const wire::NextService& request,
                                      wire::Bytes) { next_service(session, request); },
                                   Turn::InTime, 0);
  dispatcher.on<wire::HostAccesses>(
      [parts](Session& session, const wire::HostAccesses& request, wire::Bytes tail) {
        host_accesses(parts, session, request, tail);
      },
      Turn::OneWay, 0);
  dispatcher.on<wire::FetchOutput>(
      [](Session& session, const wire::FetchOutput&, wire::Bytes) { fetch_output(session); },
      Turn::AtOnce, 0);
}

}  // namespace cuco::vcluster
