// SPDX-License-Identifier: Apache-2.0
/// \file
/// A host thread's connection to the virtual cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "shims/wire/client.h"
#include "shims/wire/frame_socket.h"

namespace cuco::wire {

class Connection {
 public:
  /// Connects and says hello.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path,
                                                                const Hello& hello,
                                                                const std::string& program);

  /// Sends, waits for the reply. False: the server is gone.
  [[nodiscard]] bool call(const CallRequest& request, CallReply* reply);

  [[nodiscard]] const Hello::Reply& identity() const { return identity_; }
  /// The memfd of the process's pinned region, as it came with the reply to Hello.
  [[nodiscard]] Fd take_host_memory() { return std::move(host_memory_); }
  [[nodiscard]] std::int64_t clock() const { return clock_; }

 private:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}

  Fd socket_;
  Frame last_;
  Hello::Reply identity_;
  Fd host_memory_;
  std::int64_t clock_ = 0;
};

}  // namespace cuco::wire
