// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "shims/cudart/runtime.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_stream.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

CUCO_CUDART Error cudaEventCreateWithFlags(EventHandle* event, unsigned flags) {
  if (event == nullptr) return done(wire::kInvalidValue);
  wire::EventCreate::Reply reply;
  const Error status = call(wire::EventCreate{.device = here(), .flags = flags}, &reply);
  if (status == 0) *event = handle_of<EventHandle>(reply.event);
  return done(status);
}

CUCO_CUDART Error cudaEventCreate(EventHandle* event) {
  return cudaEventCreateWithFlags(event, 0);
}

CUCO_CUDART Error cudaEventDestroy(EventHandle event) {
  return done(call(wire::EventDestroy{.event = number_of(event)}));
}

CUCO_CUDART Error cudaEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned flags) {
  if (flags > 1) return done(wire::kInvalidValue);
  return done(call(
      wire::EventRecord{.stream = stream_ref(stream), .event = number_of(event), .flags = flags}));
}
CUCO_CUDART Error cudaEventRecordWithFlags_ptsz(EventHandle event,
                                                StreamHandle stream,
                                                unsigned flags) {
  return cudaEventRecordWithFlags(event, per_thread_if_null(stream), flags);
}

CUCO_CUDART Error cudaEventRecord(EventHandle event, StreamHandle stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
CUCO_CUDART Error cudaEventRecord_ptsz(EventHandle event, StreamHandle stream) {
  return cudaEventRecordWithFlags(event, per_thread_if_null(stream), 0);
}

CUCO_CUDART Error cudaEventSynchronize(EventHandle event) {
  if (may_not_wait()) return done(wire::kStreamCaptureUnsupported);
  return done(call(wire::EventSynchronize{.event = number_of(event)}));
}

CUCO_CUDART Error cudaEventQuery(EventHandle event) {
  if (may_not_wait()) return done(wire::kStreamCaptureUnsupported);
  return done(call(wire::EventQuery{.event = number_of(event)}));
}

CUCO_CUDART Error cudaEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  if (milliseconds == nullptr) return done(wire::kInvalidValue);
  wire::EventElapsed::Reply reply;
  const Error status =
      call(wire::EventElapsed{.start = number_of(start), .end = number_of(end)}, &reply);
  if (status == 0)
    *milliseconds = static_cast<float>(static_cast<double>(reply.picoseconds) * 1e-9);
  return done(status);
}

// Sharing with other processes. A handle is 64 bytes, of which the first 24 are used.

namespace {

struct HandleContent {
  std::uint64_t number[2];
  std::uint64_t offset;
};

Error export_object(IpcHandle* handle, wire::IpcExport::What what, std::uint64_t object) {
  if (handle == nullptr) return wire::kInvalidValue;
  wire::IpcExport::Reply reply;
  const Error status = call(wire::IpcExport{.what = what, .object = object}, &reply);
  if (status != 0) return status;
  const HandleContent content{{reply.handle[0], reply.handle[1]}, reply.offset};
  *handle = {};
  std::memcpy(handle->bytes, &content, sizeof content);
  return 0;
}

Error open_object(const IpcHandle& handle, wire::IpcExport::What what, std::uint64_t* object) {
  HandleContent content{};
  std::memcpy(&content, handle.bytes, sizeof content);
  wire::IpcOpen request{.what = what, .device = here()};
  std::memcpy(request.handle, content.number, sizeof request.handle);
  wire::IpcOpen::Reply reply;
  const Error status = call(request, &reply);
  // The base is mapped, as CUDA does; the offset is for the caller to know.
  *object = reply.object;
  return status;
}

}  // namespace

CUCO_CUDART Error cudaIpcGetEventHandle(IpcHandle* handle, EventHandle event) {
  return done(export_object(handle, wire::IpcExport::kEvent, number_of(event)));
}

CUCO_CUDART Error cudaIpcOpenEventHandle(EventHandle* event, IpcHandle handle) {
  std::uint64_t object = 0;
  if (event == nullptr) return done(wire::kInvalidValue);
  const Error status = open_object(handle, wire::IpcExport::kEvent, &object);
  if (status == 0) *event = handle_of<EventHandle>(object);
  return done(status);
}

CUCO_CUDART Error cudaIpcGetMemHandle(IpcHandle* handle, void* pointer) {
  return done(
      export_object(handle, wire::IpcExport::kMemory, reinterpret_cast<std::uint64_t>(pointer)));
}

CUCO_CUDART Error cudaIpcOpenMemHandle(void** pointer, IpcHandle handle, unsigned flags) {
  std::uint64_t object = 0;
  if (pointer == nullptr || flags > 1) return done(wire::kInvalidValue);
  const Error status = open_object(handle, wire::IpcExport::kMemory, &object);
  if (status == 0) *pointer = reinterpret_cast<void*>(object);
  return done(status);
}

CUCO_CUDART Error cudaIpcCloseMemHandle(void* pointer) {
  return done(call(wire::IpcClose{.address = reinterpret_cast<std::uint64_t>(pointer)}));
}
