// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>

#include "shims/cudart/runtime.h"
#include "shims/wire/messages_stream.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

Error create(StreamHandle* stream, unsigned flags, int priority) {
  if (stream == nullptr || flags > 1) return wire::kInvalidValue;
  wire::StreamCreate::Reply reply;
  const Error status = call(
      wire::StreamCreate{.device = here(), .flags = flags, .priority = std::clamp(priority, -5, 0)},
      &reply);
  if (status == 0) *stream = handle_of<StreamHandle>(reply.stream);
  return status;
}

Error info(StreamHandle stream, wire::StreamInfo::Reply* reply) {
  return call(wire::StreamInfo{.stream = stream_ref(stream)}, reply);
}

Error host_function(StreamHandle stream, void* function, void* argument, bool stream_callback) {
  if (function == nullptr) return wire::kInvalidValue;
  if (const Error status = refused(); status != 0) return status;
  if (!ensure_service()) return wire::kMemoryAllocation;
  return call(wire::HostFunction{.stream = stream_ref(stream),
                                 .function = reinterpret_cast<std::uint64_t>(function),
                                 .argument = reinterpret_cast<std::uint64_t>(argument),
                                 .stream_callback = stream_callback ? 1U : 0U});
}

/// Attributes have no effect on the virtual GPU; they are kept to be read back.
struct Attributes {
  std::mutex mutex;
  std::map<std::pair<StreamHandle, int>, LaunchAttributeValue> values;
};
Attributes& attributes() {
  static Attributes* const instance = new Attributes;
  return *instance;
}

}  // namespace

CUCO_CUDART Error cudaStreamCreate(StreamHandle* stream) {
  return done(create(stream, 0, 0));
}

CUCO_CUDART Error cudaStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
  return done(create(stream, flags, 0));
}

CUCO_CUDART Error cudaStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority) {
  return done(create(stream, flags, priority));
}

CUCO_CUDART Error cudaStreamDestroy(StreamHandle stream) {
  return done(call(wire::StreamDestroy{.stream = number_of(stream)}));
}

CUCO_CUDART Error cudaStreamSynchronize(StreamHandle stream) {
  if (may_not_wait()) return done(wire::kStreamCaptureUnsupported);
  return done(call(wire::StreamSynchronize{.stream = stream_ref(stream)}));
}
CUCO_CUDART Error cudaStreamSynchronize_ptsz(StreamHandle stream) {
  return cudaStreamSynchronize(per_thread_if_null(stream));
}

CUCO_CUDART Error cudaStreamQuery(StreamHandle stream) {
  if (may_not_wait()) return done(wire::kStreamCaptureUnsupported);
  return done(call(wire::StreamQuery{.stream = stream_ref(stream)}));
}
CUCO_CUDART Error cudaStreamQuery_ptsz(StreamHandle stream) {
  return cudaStreamQuery(per_thread_if_null(stream));
}

CUCO_CUDART Error cudaStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags) {
  if (flags > 1) return done(wire::kInvalidValue);
  return done(call(wire::StreamWaitEvent{
      .stream = stream_ref(stream), .event = number_of(event), .flags = flags}));
}
CUCO_CUDART Error cudaStreamWaitEvent_ptsz(StreamHandle stream, EventHandle event, unsigned flags) {
  return cudaStreamWaitEvent(per_thread_if_null(stream), event, flags);
}

CUCO_CUDART Error cudaLaunchHostFunc(StreamHandle stream, HostFunction function, void* argument) {
  return done(host_function(stream, reinterpret_cast<void*>(function), argument, false));
}
CUCO_CUDART Error cudaLaunchHostFunc_ptsz(StreamHandle stream,
                                          HostFunction function,
                                          void* argument) {
  return cudaLaunchHostFunc(per_thread_if_null(stream), function, argument);
}

CUCO_CUDART Error cudaStreamAddCallback(StreamHandle stream,
                                        StreamCallback function,
                                        void* argument,
                                        unsigned flags) {
  if (flags != 0) return done(wire::kInvalidValue);
  return done(host_function(stream, reinterpret_cast<void*>(function), argument, true));
}
CUCO_CUDART Error cudaStreamAddCallback_ptsz(StreamHandle stream,
                                             StreamCallback function,
                                             void* argument,
                                             unsigned flags) {
  return cudaStreamAddCallback(per_thread_if_null(stream), function, argument, flags);
}

CUCO_CUDART Error cudaStreamGetPriority(StreamHandle stream, int* priority) {
  wire::StreamInfo::Reply reply;
  const Error status = priority == nullptr ? Error{wire::kInvalidValue} : info(stream, &reply);
  if (status == 0) *priority = reply.priority;
  return done(status);
}
CUCO_CUDART Error cudaStreamGetPriority_ptsz(StreamHandle stream, int* priority) {
  return cudaStreamGetPriority(per_thread_if_null(stream), priority);
}

CUCO_CUDART Error cudaStreamGetFlags(StreamHandle stream, unsigned* flags) {
  wire::StreamInfo::Reply reply;
  const Error status = flags == nullptr ? Error{wire::kInvalidValue} : info(stream, &reply);
  if (status == 0) *flags = reply.flags;
  return done(status);
}
CUCO_CUDART Error cudaStreamGetFlags_ptsz(StreamHandle stream, unsigned* flags) {
  return cudaStreamGetFlags(per_thread_if_null(stream), flags);
}

CUCO_CUDART Error cudaStreamGetId(StreamHandle stream, unsigned long long* id) {
  wire::StreamInfo::Reply reply;
  const Error status = id == nullptr ? Error{wire::kInvalidValue} : info(stream, &reply);
  if (status == 0) *id = reply.id;
  return done(status);
}
CUCO_CUDART Error cudaStreamGetId_ptsz(StreamHandle stream, unsigned long long* id) {
  return cudaStreamGetId(per_thread_if_null(stream), id);
}

CUCO_CUDART Error cudaStreamGetDevice(StreamHandle stream, int* device) {
  wire::StreamInfo::Reply reply;
  const Error status = device == nullptr ? Error{wire::kInvalidValue} : info(stream, &reply);
  if (status == 0) *device = ordinal_of(reply.device);
  return done(status);
}
CUCO_CUDART Error cudaStreamGetDevice_ptsz(StreamHandle stream, int* device) {
  return cudaStreamGetDevice(per_thread_if_null(stream), device);
}

CUCO_CUDART Error cudaStreamSetAttribute(StreamHandle stream,
                                         int attribute,
                                         const LaunchAttributeValue* value) {
  if (value == nullptr) return done(wire::kInvalidValue);
  const std::lock_guard lock(attributes().mutex);
  attributes().values[{stream, attribute}] = *value;
  return 0;
}
CUCO_CUDART Error cudaStreamSetAttribute_ptsz(StreamHandle stream,
                                              int attribute,
                                              const LaunchAttributeValue* value) {
  return cudaStreamSetAttribute(per_thread_if_null(stream), attribute, value);
}

CUCO_CUDART Error cudaStreamGetAttribute(StreamHandle stream,
                                         int attribute,
                                         LaunchAttributeValue* value) {
  if (value == nullptr) return done(wire::kInvalidValue);
  const std::lock_guard lock(attributes().mutex);
  const auto found = attributes().values.find({stream, attribute});
  *value = found != attributes().values.end() ? found->second : LaunchAttributeValue{};
  return 0;
}
CUCO_CUDART Error cudaStreamGetAttribute_ptsz(StreamHandle stream,
                                              int attribute,
                                              LaunchAttributeValue* value) {
  return cudaStreamGetAttribute(per_thread_if_null(stream), attribute, value);
}

CUCO_CUDART Error cudaStreamCopyAttributes(StreamHandle to, StreamHandle from) {
  const std::lock_guard lock(attributes().mutex);
  auto& values = attributes().values;
  std::map<int, LaunchAttributeValue> found;
  for (const auto& [key, value] : values) {
    if (key.first == from) found[key.second] = value;
  }
  for (const auto& [attribute, value] : found)
    values[{to, attribute}] = value;
  return 0;
}
CUCO_CUDART Error cudaStreamCopyAttributes_ptsz(StreamHandle to, StreamHandle from) {
  return cudaStreamCopyAttributes(per_thread_if_null(to), per_thread_if_null(from));
}
