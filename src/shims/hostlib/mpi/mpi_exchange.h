// SPDX-License-Identifier: Apache-2.0
/// \file
/// Non-blocking collectives of MPI, made of messages: a rank hands in what others need of it when
/// it calls, and is done when what it needs has come. So nobody has to be inside MPI for another.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shims/hostlib/mpi/mpi_comms.h"
#include "shims/hostlib/mpi/mpi_mail.h"

namespace cuco::hostlib {

/// One rank's part of a non-blocking collective.
class Exchange {
 public:
  Exchange(const wire::ClientApi& api, MPI_Comm comm);

  [[nodiscard]] int rank() const { return facts_.rank; }
  [[nodiscard]] int size() const { return facts_.size; }

  void send(int rank, const Payload& payload);
  void send_all(const Payload& payload);
  void receive(int rank);
  void receive_all();

  /// `use` gets each payload and the rank it came from, in the order of the receives.
  using Use = std::function<int(int rank, const Payload& payload)>;
  MPI_Request launch(Use use);

 private:
  const wire::ClientApi& api_;
  CommFacts facts_;
  std::uint64_t name_;
  std::vector<int> sources_;
  std::vector<std::uint64_t> numbers_;
};

/// Data of some type in the program's memory.
struct Data {
  void* start = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

  [[nodiscard]] char* at(std::int64_t elements) const;
  [[nodiscard]] Payload pack_at(std::int64_t elements, int count) const;
  [[nodiscard]] int unpack_at(std::int64_t elements, int count, const Payload& payload) const;
};

[[nodiscard]] Data data_of(const void* start, MPI_Datatype type, MPI_Comm comm);

}  // namespace cuco::hostlib
