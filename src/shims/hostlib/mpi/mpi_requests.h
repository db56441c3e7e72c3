// SPDX-License-Identifier: Apache-2.0
/// \file
/// MPI_Requests of ours: operations at the server behind handles that MPI knows as generalized
/// requests, so that calls which are not wrapped accept them too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <mpi.h>

#include "shims/wire/client.h"

namespace cuco::hostlib {

/// What a request waits for and what is left to do then.
struct Operation {
  std::uint64_t number = 0;  ///< At the server; 0: done.
  /// Fetches, unpacks, fills the status; empty: nothing to do. Returns an MPI error code.
  std::function<int(MPI_Status*)> finish;
};

[[nodiscard]] MPI_Request new_request(Operation operation);
/// A request that MPI_Start starts as often as wanted.
[[nodiscard]] MPI_Request new_persistent_request(std::function<Operation()> start);
/// False: the request is not ours.
[[nodiscard]] bool start_request(MPI_Request request);

/// The number that the request waits for; 0: it is done or inactive; nullopt: it is not ours.
[[nodiscard]] std::optional<std::uint64_t> awaited_by(MPI_Request request);
/// The server has said that its number is done.
void note_done(MPI_Request request);
/// Ends a request that is done; the handle becomes MPI_REQUEST_NULL unless it is persistent.
int finish_request(MPI_Request* request, MPI_Status* status);
/// The status that finishing it would give, without ending it.
int look_at_request(MPI_Request request, MPI_Status* status);
/// False: not ours.
[[nodiscard]] bool cancel_request(const wire::ClientApi& api, MPI_Request request);
[[nodiscard]] bool free_request(MPI_Request* request);

}  // namespace cuco::hostlib
