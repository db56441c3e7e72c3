// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank process's side of the wire: one connection per host thread, made at its first call.
///
/// The connections belong to libcudart.so.13, which exports cucoClientApi(); libnccl and the host
/// library find it with dlsym, so that a thread is one logical process to the server, whatever
/// libraries it calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shims/wire/messages_host.h"
#include "shims/wire/protocol.h"
#include "shims/wire/status.h"
#include "shims/wire/view.h"

namespace cuco::wire {

/// A reply; payload and fd belong to the connection and live until the thread's next call.
struct CallReply {
  std::int32_t status = 0;
  std::int64_t clock = 0;
  const std::byte* payload = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
};

/// One request. `fd` -1: none goes along.
struct CallRequest {
  std::uint16_t type = 0;
  bool one_way = false;
  int fd = -1;
  const void* head = nullptr;
  std::size_t head_bytes = 0;
  const void* tail = nullptr;
  std::size_t tail_bytes = 0;
};

/// What libcudart offers to its sister libraries.
struct ClientApi {
  std::uint32_t version = kVersion;
  /// Sends, waits for the reply. False: there is no server (a message has been printed once).
  bool (*call)(const CallRequest* request, CallReply* reply) = nullptr;
  /// The thread's virtual time after its last call, in picoseconds; 0 before the first.
  std::int64_t (*clock)() = nullptr;
  /// What Hello answered; null: there is no server.
  const Hello::Reply* (*identity)() = nullptr;
  /// The thread's current device as the program counts, and as the cluster does.
  int (*current_device)() = nullptr;
  int (*cluster_device)(int ordinal) = nullptr;
  /// Virtual time at which threads made by this thread from now on are born.
  void (*set_birth_clock)(std::int64_t clock) = nullptr;
  /// Has the calling thread made a call before?
  bool (*is_known)() = nullptr;
};

inline constexpr const char* kClientApiSymbol = "cucoClientApi";
using ClientApiFunction = const ClientApi* (*)();

/// Calls with typed request and reply. `reply_tail`, if given, views what follows the reply.
template <typename Request>
std::int32_t call(const ClientApi& api,
                  const Request& request,
                  typename Request::Reply* reply,
                  Bytes tail = {},
                  Bytes* reply_tail = nullptr,
                  int fd = -1) {
  using Reply = typename Request::Reply;
  const CallRequest raw{.type = Request::kType,
                        .one_way = false,
                        .fd = fd,
                        .head = &request,
                        .head_bytes = kWireSize<Request>,
                        .tail = tail.data(),
                        .tail_bytes = tail.size()};
  CallReply answer;
  if (!api.call(&raw, &answer)) return kInitializationError;
  const Bytes payload(answer.payload, answer.bytes);
  if (const auto value = read_front<Reply>(payload)) {
    if (reply != nullptr) *reply = *value;
    if (reply_tail != nullptr) *reply_tail = payload.subspan(kWireSize<Reply>);
  } else if (answer.status == kSuccess) {
    return kUnknown;
  }
  return answer.status;
}

}  // namespace cuco::wire
