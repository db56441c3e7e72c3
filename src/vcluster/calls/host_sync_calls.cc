// SPDX-License-Identifier: Apache-2.0
#include "shims/wire/messages_host.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/host/client_process.h"
#include "vcluster/host/host_sync.h"

namespace cuco::vcluster {
namespace {

HostSync::Name name_of(const Session& session, std::uint32_t scope, std::uint64_t key) {
  return {scope == 0 ? session.process->index : HostSync::kEverybody, key};
}

}  // namespace

void register_host_sync_calls(Dispatcher& dispatcher, HostSync& sync) {
  dispatcher.on<wire::ReadClock>(
      [](Session& session, const wire::ReadClock& request, wire::Bytes) {
        if (request.advance_ps < 0) return session.refuse("a clock that runs backwards");
        session.begin(session.poll_cost(request.advance_ps));
        session.reply(wire::kSuccess);
      },
      Turn::AtOnce, 0);
  dispatcher.on<wire::Sleep>([&sync](Session& session, const wire::Sleep& request, wire::Bytes) {
    sync.sleep(session, request.duration_ps);
  });
  dispatcher.on<wire::SemaphorePost>(
      [&sync](Session& session, const wire::SemaphorePost& request, wire::Bytes) {
        sync.post(name_of(session, request.scope, request.key), request.count, request.last_ticket);
        session.reply(wire::kSuccess);
      });
  dispatcher.on<wire::SemaphoreWait>(
      [&sync](Session& session, const wire::SemaphoreWait& request, wire::Bytes) {
        sync.wait(session, name_of(session, request.scope, request.key), request.ticket,
                  request.timeout_ps, request.kind);
      });
  dispatcher.on<wire::Rendezvous>([&sync](Session& session, const wire::Rendezvous& request,
                                          wire::Bytes) {
    if (request.count == 0) return session.refuse("a rendezvous of nobody");
    sync.meet(session, name_of(session, request.scope, request.key), request.count, request.kind);
  });
}

}  // namespace cuco::vcluster
