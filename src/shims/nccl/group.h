// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls on their way to the server: one at a time, or collected between ncclGroupStart and
/// ncclGroupEnd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nccl_core/types.h"
#include "shims/nccl/comm.h"
#include "shims/wire/client.h"
#include "shims/wire/messages_nccl.h"

namespace cuco::nccl {

using nccl_core::Code;

/// The connection that libcudart owns; null when there is no virtual cluster. A message is printed
/// once.
[[nodiscard]] const wire::ClientApi* client();

/// One call, ready to be sent, and what to do with its answer.
struct PendingCall {
  wire::NcclItemKind kind{};
  std::vector<std::byte> payload;
  ncclComm* comm = nullptr;  ///< Gets the error text; may be null.
  ncclComm* made = nullptr;  ///< The communicator that this call makes, if any.
  /// Called with the answer's payload, also when the call failed.
  std::function<void(Code, wire::Bytes)> on_answer;
};

/// A group whose answers the program has to ask for.
struct InFlight {
  std::uint64_t ticket = 0;
  std::vector<PendingCall> calls;
};

/// Asks for the answers of what the communicator has in flight; InProgress: not yet.
Code poll(ncclComm& comm);
/// The program gives up a communicator: answers to come must not reach it.
void abandon(ncclComm& comm);

/// Sends the call now, or with its group. Returns what NCCL would return at this point.
Code enqueue(PendingCall call);

/// Reports a failure found on this side: prints, remembers, returns its code. Inside a group it is
/// also what ncclGroupEnd will return.
Code fail(ncclComm* comm, nccl_core::Problem problem);

Code group_start();
Code group_end();
/// Forgets the group's calls and predicts their time instead.
Code group_simulate_end(double* seconds);

/// The text of the thread's last error without a communicator.
[[nodiscard]] const char* last_error(const ncclComm* comm);

template <typename T>
[[nodiscard]] std::vector<std::byte> payload_of(const T& value) {
  std::vector<std::byte> bytes;
  wire::append(bytes, value);
  return bytes;
}

}  // namespace cuco::nccl
