// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sends and receives as operations: what the blocking, the non-blocking and the persistent calls
/// have in common.
#pragma once

#include <cstdint>

#include <mpi.h>

#include "shims/hostlib/mpi/mpi_requests.h"
#include "shims/wire/client.h"

namespace cuco::hostlib {

/// When a send is done.
enum class SendMode : std::uint8_t {
  Standard,     ///< When a small message is on its way, a large one is being received.
  Synchronous,  ///< When it is being received.
  Buffered,     ///< At once.
};

struct SendArguments {
  const void* data = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = 0;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  SendMode mode = SendMode::Standard;
};
struct ReceiveArguments {
  void* data = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = 0;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

[[nodiscard]] Operation start_send(const wire::ClientApi& api, const SendArguments& send);
[[nodiscard]] Operation start_receive(const wire::ClientApi& api, const ReceiveArguments& receive);
/// Waits for it and does what is left to do.
int complete(const wire::ClientApi& api, const Operation& operation, MPI_Status* status);

/// Fetches a receive that is done into its buffer.
int take(const wire::ClientApi& api,
         std::uint64_t number,
         const ReceiveArguments& receive,
         MPI_Status* status);

}  // namespace cuco::hostlib
