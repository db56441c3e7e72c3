// SPDX-License-Identifier: Apache-2.0
/// \file
/// MPI's own matching rules, played through on the server before the real call is made.
///
/// A blocking MPI call may wait for another process, which the server cannot see. So every call
/// first meets its partners on the server, in virtual time, and makes the real call only when it
/// can no longer block: all ranks of a collective are there, the message of a receive has been
/// sent, the receive of a large message has been posted. While the real call runs the thread counts
/// as running, and simulated time stands still.
#pragma once

#include <cstdint>

#include <mpi.h>

#include "wire/client.h"

namespace cuco::hostlib {

/// The name of a message: communicator, source, destination, tag and number among its equals.
struct MessageName {
  std::uint64_t sent = 0;    ///< Posted by the sender when it sends.
  std::uint64_t wanted = 0;  ///< Posted by the receiver when it is ready to receive.
  bool is_known = false;     ///< False: MPI_ANY_SOURCE or MPI_ANY_TAG; nobody knows in advance.
};

/// Messages up to this size are sent without waiting for the receiver, as Open MPI does.
inline constexpr std::int64_t kEagerBytes = 4096;

/// All ranks of the communicator meet. Nothing happens without a server.
void synchronise(MPI_Comm comm);

/// Names the next message in one direction between this rank and `peer`.
[[nodiscard]] MessageName next_sent(int peer, int tag, MPI_Comm comm);
[[nodiscard]] MessageName next_received(int peer, int tag, MPI_Comm comm);

/// The name that next_received would give, without giving it.
[[nodiscard]] MessageName peek_received(int peer, int tag, MPI_Comm comm);
/// Ranks of the communicator; 0: one that came from a call we do not wrap.
[[nodiscard]] int size_of(MPI_Comm comm);

[[nodiscard]] std::int64_t bytes_of(int count, MPI_Datatype type);

/// Gives a communicator made from `parent` a name that all its ranks agree on. `colour` tells apart
/// communicators made by the same call.
void name_child(MPI_Comm parent, MPI_Comm child, std::int64_t colour);
void forget(MPI_Comm comm);

}  // namespace cuco::hostlib
