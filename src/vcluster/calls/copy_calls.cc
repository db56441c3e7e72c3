// SPDX-License-Identifier: Apache-2.0
#include "shims/wire/messages_stream.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/operation.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"

namespace cuco::vcluster {
namespace {

// What a call costs the host thread (bench/launch, one H200): a fill; a copy to or from the host; a
// copy within a GPU, which the driver launches a kernel for.
constexpr VTime kFillCost = 1'600 * vgpu::kNanosecond;
constexpr VTime kHostCopyCost = 2'700 * vgpu::kNanosecond;
constexpr VTime kDeviceCopyCost = 5'900 * vgpu::kNanosecond;

/// Hands the parsed operation to its stream and replies, now or when it is done.
void run(const StreamParts& parts, Session& session, Stream& stream, Parsed parsed, bool wait) {
  if (parsed.status != wire::kSuccess) {
    return reply_status(session, stream.context, parsed.status);
  }
  const std::string what = describe(parsed.operation);
  const auto result = parts.operations.enqueue(stream, std::move(parsed.operation));
  if (result.status != wire::kSuccess || result.work == nullptr || !wait) {
    return reply_status(session, stream.context, result.status);
  }
  parts.replies.when_done(session, {&result.work, 1}, stream.context,
                          what + " in " + stream.name());
}

bool is_within_devices(const wire::Copy& request) {
  const auto is_device = [](const wire::CopyEnd& end) {
    return end.where == wire::CopyEnd::kServer && end.address < vgpu::kHostBase;
  };
  return is_device(request.to) && is_device(request.from);
}

bool uses_bounce(const wire::Copy& request) {
  return request.to.where == wire::CopyEnd::kBounce || request.from.where == wire::CopyEnd::kBounce;
}

}  // namespace

void register_copy_calls(Dispatcher& dispatcher, const StreamParts& parts) {
  dispatcher.on<wire::Copy>(
      [parts](Session& session, const wire::Copy& request, wire::Bytes) {
        Stream* stream = parts.processes.stream(session, request.stream);
        if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
        if (is_within_devices(request)) session.begin(kDeviceCopyCost - kHostCopyCost);
        // A captured copy runs later, when the bounce buffer holds something else.
        if (stream->capture != nullptr && uses_bounce(request)) {
          return session.reply(wire::kUseHostEnd);
        }
        if (request.wait != 0 && stream->capture != nullptr) {
          return session.reply(wire::kStreamCaptureUnsupported);
        }
        run(parts, session, *stream, parts.operations.parse_copy(session, request),
            request.wait != 0);
      },
      Turn::InTime, kHostCopyCost);
  dispatcher.on<wire::Fill>(
      [parts](Session& session, const wire::Fill& request, wire::Bytes) {
        Stream* stream = parts.processes.stream(session, request.stream);
        if (stream == nullptr) return session.reply(wire::kInvalidResourceHandle);
        run(parts, session, *stream, parts.operations.parse_fill(*session.process, request),
            request.wait != 0);
      },
      Turn::InTime, kFillCost);
}

}  // namespace cuco::vcluster
