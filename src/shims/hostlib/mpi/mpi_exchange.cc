// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/mpi/mpi_exchange.h"

#include <utility>

#include "shims/hostlib/mpi/mpi_requests.h"

namespace cuco::hostlib {

constexpr int kTag = 0;

Exchange::Exchange(const wire::ClientApi& api, MPI_Comm comm)
    : api_(api), facts_(facts_of(comm)), name_(next_collective(comm)) {}

void Exchange::send(int rank, const Payload& payload) {
  (void)mail_send(api_, {name_, facts_.rank}, facts_.world[static_cast<std::size_t>(rank)], kTag,
                  payload, false);
}

void Exchange::send_all(const Payload& payload) {
  for (int rank = 0; rank < size(); ++rank)
    send(rank, payload);
}

void Exchange::receive(int rank) {
  sources_.push_back(rank);
  numbers_.push_back(mail_receive(api_, name_, rank, kTag));
}

void Exchange::receive_all() {
  for (int rank = 0; rank < size(); ++rank)
    receive(rank);
}

MPI_Request Exchange::launch(Use use) {
  Operation operation;
  operation.number = mail_join(api_, numbers_);
  operation.finish = [&api = api_, numbers = numbers_, sources = sources_,
                      use = std::move(use)](MPI_Status*) {
    int result = MPI_SUCCESS;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Mail mail = mail_fetch(api, numbers[i]);
      const int code = use ? use(sources[i], mail.payload) : MPI_SUCCESS;
      if (code != MPI_SUCCESS) result = code;
    }
    return result;
  };
  return new_request(std::move(operation));
}

char* Data::at(std::int64_t elements) const {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  return static_cast<char*>(start) + elements * extent;
}

Payload Data::pack_at(std::int64_t elements, int count) const {
  return pack(at(elements), count, type, comm);
}

int Data::unpack_at(std::int64_t elements, int count, const Payload& payload) const {
  return unpack(payload, at(elements), count, type, comm);
}

Data data_of(const void* start, MPI_Datatype type, MPI_Comm comm) {
  return {const_cast<void*>(start), type, comm};
}

}  // namespace cuco::hostlib
