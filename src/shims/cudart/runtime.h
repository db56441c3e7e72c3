// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every call of the runtime stands on: the thread's state and its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shims/cudart/abi.h"
#include "shims/wire/client.h"
#include "shims/wire/messages_device.h"
#include "shims/wire/messages_stream.h"
#include "shims/wire/status.h"

namespace cuco::cudart {

/// A kernel launch between <<<>>> and the stub that makes it.
struct CallConfiguration {
  Dim3 grid;
  Dim3 block;
  std::size_t dynamic_smem = 0;
  StreamHandle stream = nullptr;
};

/// One host thread. Trivial, so that it is usable in every constructor and destructor.
struct Thread {
  int device = 0;  ///< As the program counts.
  Error last_error = 0;
  bool in_callback = false;  ///< A host function runs: CUDA calls are not permitted.
  int capture_mode = 0;
  std::vector<StreamHandle>* captures = nullptr;  ///< Begun here, and not relaxed.
  std::vector<CallConfiguration>* configurations = nullptr;
};
[[nodiscard]] Thread& thread();

/// The connections, for this library and its sisters.
[[nodiscard]] const wire::ClientApi& client();
/// What the server told the process; null: there is no server.
[[nodiscard]] const wire::Hello::Reply* identity();
/// Number of devices the program sees (CUDA_VISIBLE_DEVICES applied).
[[nodiscard]] int device_count();
/// The cluster's number of a device, -1 if the program has none of that number.
[[nodiscard]] int cluster_device(int ordinal);
/// The program's number of a cluster device, -1 if it cannot see it.
[[nodiscard]] int ordinal_of(int cluster_device);
/// The cluster's number of the thread's current device.
[[nodiscard]] int here();
/// Null if there is no such device.
[[nodiscard]] const wire::DeviceInfo* device_info(int ordinal);

/// The program uses the runtime, which has a context: what the driver API takes for its own.
void note_runtime_used();

/// A thread that captures, and has not said that it knows better, may wait for no stream and ask
/// none: its captures are spoiled then.
[[nodiscard]] bool may_not_wait();

/// Remembers an error for cudaGetLastError and returns it.
Error done(Error status);
/// Takes the flags off a reply's status: fetches printed text, keeps sticky errors.
[[nodiscard]] Error settle(std::int32_t raw);
/// The sticky error of the thread's current device; 0: none.
[[nodiscard]] Error sticky_error();
void clear_sticky_error(int cluster_device);
/// Why no call may be made now: a sticky error, or a callback; 0: go on.
[[nodiscard]] Error refused();

/// Calls the server with a sticky error and callbacks seen to.
template <typename Request>
[[nodiscard]] Error call(const Request& request,
                         typename Request::Reply* reply = nullptr,
                         wire::Bytes tail = {},
                         wire::Bytes* reply_tail = nullptr,
                         int fd = -1) {
  if (const Error status = refused(); status != 0) return status;
  return settle(wire::call(client(), request, reply, tail, reply_tail, fd));
}

[[nodiscard]] inline wire::StreamRef stream_ref(StreamHandle stream) {
  return {.stream = number_of(stream), .device = here()};
}
inline StreamHandle per_thread_if_null(StreamHandle stream) {
  return stream != nullptr ? stream : handle_of<StreamHandle>(wire::kPerThreadStream);
}
inline const StreamHandle kPerThread = handle_of<StreamHandle>(wire::kPerThreadStream);

/// Starts the process's service thread, which runs callbacks and reaches pageable memory for the
/// server. Returns once it is connected; false: it could not be.
bool ensure_service();

/// One shared buffer per thread, through which pageable memory travels. Grows to `bytes`; empty on
/// failure.
[[nodiscard]] std::span<std::byte> bounce(std::size_t bytes);
inline constexpr std::size_t kBounceChunk = std::size_t{32} << 20U;

/// Says once on standard error that a function is not supported; returns cudaErrorNotSupported.
Error unsupported(const char* function);

}  // namespace cuco::cudart
