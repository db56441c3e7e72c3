// SPDX-License-Identifier: Apache-2.0
#include "vcluster/server/judged_requests.h"

#include <algorithm>

#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_host.h"
#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_module.h"
#include "shims/wire/view.h"
#include "vcluster/host/process_identity.h"

namespace cuco::vcluster {
namespace {

using Reason = std::optional<std::string>;

/// Each rank has the connection it began with. Later only the thread that our runtime starts for
/// callbacks and host copies joins; another could be ahead of, or behind, the clock that counts.
Reason against_hello(const Processes& processes, const Session& session, const wire::Frame& frame) {
  const auto hello = wire::read_front<wire::Hello>(frame.payload);
  if (!hello) return std::nullopt;  // refused as too short
  if (hello->born_at >= 0) return "a thread that says when it was born";
  if (!processes.is_sealed()) return std::nullopt;
  const std::uint32_t pid = process_identity(session.pid, *hello);
  const auto known = std::ranges::find_if(
      processes.all(), [&](const auto& entry) { return entry.second->pid == pid; });
  if (known == processes.all().end()) return "a process that is none of the ranks";
  if (hello->role != wire::Hello::kService) return "a second connection of a rank";
  if (known->second->service != nullptr) return "a second service thread";
  return std::nullopt;
}

/// The host library is not loaded into judged ranks: clocks, sleeps, barriers and messages of the
/// host are nobody's. The one lock is our runtime's own.
bool is_of_host_library(const wire::Frame& frame) {
  switch (frame.header.type) {
    case wire::Hello::kType:
    case wire::Goodbye::kType:
    case wire::AttachBounce::kType:
    case wire::FetchOutput::kType:
    case wire::NextService::kType:
      return false;
    case wire::SemaphorePost::kType:
    case wire::SemaphoreWait::kType:
      return wire::read_front<std::uint64_t>(frame.payload) != wire::kLoadingLock;
    default:
      return frame.header.type < wire::kDeviceSubject;
  }
}

template <typename... Messages>
bool any_begins_early(const wire::Frame& frame) {
  const auto says_so = [&]<typename Message>(const Message*) {
    if (frame.header.type != Message::kType) return false;
    const auto message = wire::read_front<Message>(frame.payload);
    return message && message->begins_early != 0;
  };
  return (says_so(static_cast<const Messages*>(nullptr)) || ...);
}

/// A kernel that need not wait for the one before it takes its turn here: whether it waits where it
/// has to would stay unseen.
bool begins_early(const wire::Frame& frame) {
  return any_begins_early<wire::Launch, wire::GraphAddNode, wire::GraphEdit, wire::CaptureBegin,
                          wire::CaptureSetDependencies>(frame);
}

}  // namespace

Reason why_not_in_judged_run(const Processes& processes,
                             const Session& session,
                             const wire::Frame& frame) {
  const std::uint16_t type = frame.header.type;
  if (type == wire::Hello::kType) return against_hello(processes, session, frame);
  if (is_of_host_library(frame)) return "judged ranks may not use host clocks or host waits";
  if (begins_early(frame))
    return "programmatic dependent launch, which the virtual cluster does not play";
  if (type == wire::MapManaged::kType) return "device memory mapped by the host";
  const bool service = type == wire::NextService::kType || type == wire::AttachBounce::kType ||
                       type == wire::Goodbye::kType;
  if (session.is_service && !service) return "a call from a host callback";
  return std::nullopt;
}

}  // namespace cuco::vcluster
