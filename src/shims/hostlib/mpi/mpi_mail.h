// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages through the server's mail room instead of through MPI's transports: no real call waits
/// for another process, and who meets whom is decided in virtual time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "shims/wire/client.h"
#include "shims/wire/messages_mail.h"

namespace cuco::hostlib {

using Payload = std::vector<std::byte>;
/// Under which name, and to or from which rank of it.
struct Address {
  std::uint64_t comm = 0;
  int rank = 0;  ///< The sender's own rank in it.
};

/// Messages up to this size are sent without waiting for the receiver, as Open MPI does.
inline constexpr std::uint64_t kEagerBytes = 4096;

/// Device memory, which MPI itself could not read here; messages and non-blocking collectives can.
[[nodiscard]] bool is_on_device(const void* data);

[[nodiscard]] Payload pack(const void* data, int count, MPI_Datatype type, MPI_Comm comm);
/// As many whole elements as have come. Returns an MPI error code: the buffer may be too small.
[[nodiscard]] int unpack(
    std::span<const std::byte> payload, void* data, int count, MPI_Datatype type, MPI_Comm comm);

/// The number of the operation; 0: done.
[[nodiscard]] std::uint64_t mail_send(const wire::ClientApi& api,
                                      const Address& from,
                                      int to_world_rank,
                                      int tag,
                                      std::span<const std::byte> payload,
                                      bool waits_for_taker);
[[nodiscard]] std::uint64_t mail_receive(const wire::ClientApi& api,
                                         std::uint64_t comm,
                                         int source,
                                         int tag);
[[nodiscard]] std::uint64_t mail_join(const wire::ClientApi& api,
                                      const std::vector<std::uint64_t>& numbers);
/// Waits for the first; its index.
std::size_t mail_wait(const wire::ClientApi& api, const std::vector<std::uint64_t>& numbers);
/// The index of one that is done, or -1.
[[nodiscard]] int mail_test(const wire::ClientApi& api, const std::vector<std::uint64_t>& numbers);

/// What a receive got.
struct Mail {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  Payload payload;
};
[[nodiscard]] Mail mail_fetch(const wire::ClientApi& api, std::uint64_t number);
[[nodiscard]] bool mail_cancel(const wire::ClientApi& api, std::uint64_t number);

/// Status of a message of `bytes`; MPI_STATUS_IGNORE is fine.
void fill_status(MPI_Status* status, int source, int tag, std::uint64_t bytes);
void fill_empty_status(MPI_Status* status);

}  // namespace cuco::hostlib
