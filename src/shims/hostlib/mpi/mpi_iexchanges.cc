// SPDX-License-Identifier: Apache-2.0
// Non-blocking barriers, broadcasts, gathers, scatters and exchanges of MPI. The plain ones are the
// v-variants with even places.
#include <span>
#include <utility>
#include <vector>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_exchange.h"

namespace cuco::hostlib {
namespace {

/// Counts and places of ranks; null arrays: `count` each, one after the other.
struct Parts {
  const int* counts = nullptr;
  const int* places = nullptr;
  int count = 0;

  [[nodiscard]] int count_of(int rank) const { return counts == nullptr ? count : counts[rank]; }
  [[nodiscard]] std::int64_t place_of(int rank) const {
    return places == nullptr ? std::int64_t{rank} * count : places[rank];
  }
};

/// The arrays of the program may be gone when the collective ends.
struct KeptParts {
  KeptParts(const Parts& parts, int size) {
    for (int rank = 0; rank < size; ++rank) {
      counts.push_back(parts.count_of(rank));
      places.push_back(parts.place_of(rank));
    }
  }
  std::vector<int> counts;
  std::vector<std::int64_t> places;
};

MPI_Request launch_into(Exchange& exchange, const Data& out, const Parts& parts) {
  return exchange.launch(
      [out, kept = KeptParts(parts, exchange.size())](int rank, const Payload& payload) {
        const auto at = static_cast<std::size_t>(rank);
        return out.unpack_at(kept.places[at], kept.counts[at], payload);
      });
}

/// A negative root: all of them.
MPI_Request start_gather(Exchange exchange,
                         const Data& in,
                         int in_count,
                         const Data& out,
                         const Parts& parts,
                         int root) {
  const bool in_place = in.start == MPI_IN_PLACE;
  const Payload mine =
      in_place ? out.pack_at(parts.place_of(exchange.rank()), parts.count_of(exchange.rank()))
               : in.pack_at(0, in_count);
  if (root < 0) {
    exchange.send_all(mine);
  } else {
    exchange.send(root, mine);
  }
  if (root >= 0 && root != exchange.rank()) return exchange.launch(nullptr);
  exchange.receive_all();
  return launch_into(exchange, out, parts);
}

MPI_Request start_scatter(Exchange exchange,
                          const Data& in,
                          const Parts& parts,
                          const Data& out,
                          int out_count,
                          int root) {
  const bool in_place = out.start == MPI_IN_PLACE;
  if (exchange.rank() == root) {
    for (int rank = 0; rank < exchange.size(); ++rank) {
      if (rank != root || !in_place) {
        exchange.send(rank, in.pack_at(parts.place_of(rank), parts.count_of(rank)));
      }
    }
  }
  if (!in_place) exchange.receive(root);
  return exchange.launch(
      [=](int, const Payload& payload) { return out.unpack_at(0, out_count, payload); });
}

MPI_Request start_exchange(Exchange exchange,
                           const Data& in,
                           const Parts& in_parts,
                           const Data& out,
                           const Parts& out_parts) {
  const bool in_place = in.start == MPI_IN_PLACE;
  const Data& from = in_place ? out : in;
  const Parts& parts = in_place ? out_parts : in_parts;
  for (int rank = 0; rank < exchange.size(); ++rank) {
    exchange.send(rank, from.pack_at(parts.place_of(rank), parts.count_of(rank)));
  }
  exchange.receive_all();
  return launch_into(exchange, out, out_parts);
}

/// What one rank gets or gives where every rank has a type of its own; places are in bytes.
struct TypedPart {
  Data data;
  int count = 0;
};
using TypedParts = std::vector<TypedPart>;

TypedParts typed_parts(const void* start,
                       std::span<const int> counts,
                       const int* places,
                       const MPI_Datatype* types,
                       MPI_Comm comm) {
  TypedParts parts;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const void* place = static_cast<const char*>(start) + places[rank];
    parts.push_back({data_of(place, types[rank], comm), counts[rank]});
  }
  return parts;
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ibarrier(comm, request);
  Exchange exchange(*api, comm);
  exchange.send_all({});
  exchange.receive_all();
  *request = exchange.launch(nullptr);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ibcast(
    void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Ibcast(data, count, type, root, comm, request);
  Exchange exchange(*api, comm);
  const Data buffer = data_of(data, type, comm);
  if (exchange.rank() == root) {
    const Payload payload = buffer.pack_at(0, count);
    for (int rank = 0; rank < exchange.size(); ++rank) {
      if (rank != root) exchange.send(rank, payload);
    }
  } else {
    exchange.receive(root);
  }
  *request = exchange.launch(
      [=](int, const Payload& payload) { return buffer.unpack_at(0, count, payload); });
  return MPI_SUCCESS;
}

// NOLINTBEGIN(readability-function-size): MPI's signatures.
CUCO_HOST_EXPORT int MPI_Igather(const void* send,
                                 int send_count,
                                 MPI_Datatype send_type,
                                 void* recv,
                                 int recv_count,
                                 MPI_Datatype recv_type,
                                 int root,
                                 MPI_Comm comm,
                                 MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Igather(send, send_count, send_type, recv, recv_count, recv_type, root, comm,
                        request);
  }
  *request = start_gather(Exchange(*api, comm), data_of(send, send_type, comm), send_count,
                          data_of(recv, recv_type, comm), {nullptr, nullptr, recv_count}, root);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Igatherv(const void* send,
                                  int send_count,
                                  MPI_Datatype send_type,
                                  void* recv,
                                  const int counts[],
                                  const int places[],
                                  MPI_Datatype recv_type,
                                  int root,
                                  MPI_Comm comm,
                                  MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Igatherv(send, send_count, send_type, recv, counts, places, recv_type, root, comm,
                         request);
  }
  *request = start_gather(Exchange(*api, comm), data_of(send, send_type, comm), send_count,
                          data_of(recv, recv_type, comm), {counts, places, 0}, root);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iallgather(const void* send,
                                    int send_count,
                                    MPI_Datatype send_type,
                                    void* recv,
                                    int recv_count,
                                    MPI_Datatype recv_type,
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iallgather(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  }
  *request = start_gather(Exchange(*api, comm), data_of(send, send_type, comm), send_count,
                          data_of(recv, recv_type, comm), {nullptr, nullptr, recv_count}, -1);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iallgatherv(const void* send,
                                     int send_count,
                                     MPI_Datatype send_type,
                                     void* recv,
                                     const int counts[],
                                     const int places[],
                                     MPI_Datatype recv_type,
                                     MPI_Comm comm,
                                     MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iallgatherv(send, send_count, send_type, recv, counts, places, recv_type, comm,
                            request);
  }
  *request = start_gather(Exchange(*api, comm), data_of(send, send_type, comm), send_count,
                          data_of(recv, recv_type, comm), {counts, places, 0}, -1);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iscatter(const void* send,
                                  int send_count,
                                  MPI_Datatype send_type,
                                  void* recv,
                                  int recv_count,
                                  MPI_Datatype recv_type,
                                  int root,
                                  MPI_Comm comm,
                                  MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iscatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm,
                         request);
  }
  *request = start_scatter(Exchange(*api, comm), data_of(send, send_type, comm),
                           {nullptr, nullptr, send_count}, data_of(recv, recv_type, comm),
                           recv_count, root);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iscatterv(const void* send,
                                   const int counts[],
                                   const int places[],
                                   MPI_Datatype send_type,
                                   void* recv,
                                   int recv_count,
                                   MPI_Datatype recv_type,
                                   int root,
                                   MPI_Comm comm,
                                   MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Iscatterv(send, counts, places, send_type, recv, recv_count, recv_type, root, comm,
                          request);
  }
  *request = start_scatter(Exchange(*api, comm), data_of(send, send_type, comm),
                           {counts, places, 0}, data_of(recv, recv_type, comm), recv_count, root);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ialltoall(const void* send,
                                   int send_count,
                                   MPI_Datatype send_type,
                                   void* recv,
                                   int recv_count,
                                   MPI_Datatype recv_type,
                                   MPI_Comm comm,
                                   MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  }
  *request = start_exchange(Exchange(*api, comm), data_of(send, send_type, comm),
                            {nullptr, nullptr, send_count}, data_of(recv, recv_type, comm),
                            {nullptr, nullptr, recv_count});
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ialltoallv(const void* send,
                                    const int send_counts[],
                                    const int send_places[],
                                    MPI_Datatype send_type,
                                    void* recv,
                                    const int recv_counts[],
                                    const int recv_places[],
                                    MPI_Datatype recv_type,
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Ialltoallv(send, send_counts, send_places, send_type, recv, recv_counts,
                           recv_places, recv_type, comm, request);
  }
  *request = start_exchange(Exchange(*api, comm), data_of(send, send_type, comm),
                            {send_counts, send_places, 0}, data_of(recv, recv_type, comm),
                            {recv_counts, recv_places, 0});
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Ialltoallw(const void* send,
                                    const int send_counts[],
                                    const int send_places[],
                                    const MPI_Datatype send_types[],
                                    void* recv,
                                    const int recv_counts[],
                                    const int recv_places[],
                                    const MPI_Datatype recv_types[],
                                    MPI_Comm comm,
                                    MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Ialltoallw(send, send_counts, send_places, send_types, recv, recv_counts,
                           recv_places, recv_types, comm, request);
  }
  Exchange exchange(*api, comm);
  const auto ranks = static_cast<std::size_t>(exchange.size());
  const TypedParts out = typed_parts(recv, {recv_counts, ranks}, recv_places, recv_types, comm);
  const TypedParts in =
      send == MPI_IN_PLACE ? out
                           : typed_parts(send, {send_counts, ranks}, send_places, send_types, comm);
  for (int rank = 0; rank < exchange.size(); ++rank) {
    const TypedPart& part = in[static_cast<std::size_t>(rank)];
    exchange.send(rank, part.data.pack_at(0, part.count));
  }
  exchange.receive_all();
  *request = exchange.launch([out](int rank, const Payload& payload) {
    const TypedPart& part = out[static_cast<std::size_t>(rank)];
    return part.data.unpack_at(0, part.count, payload);
  });
  return MPI_SUCCESS;
}
// NOLINTEND(readability-function-size)
