// SPDX-License-Identifier: Apache-2.0
// Start, end, clock, names, communicators and collectives of MPI.
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "hostlib/mpi_comms.h"
#include "hostlib/mpi_mail.h"
#include "hostlib/server.h"

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

namespace {

/// MPI's own start and end wait for all processes in ways that nobody can see.
template <typename Call>
int outside(Call call) {
  const auto* api = server();
  if (api == nullptr) return call();
  const Outside blocked(*api, cuco::wire::HostWait::MessagePassing);
  return call();
}

int node() {
  const auto* api = server();
  const auto* identity = api == nullptr ? nullptr : api->identity();
  return identity == nullptr ? 0 : static_cast<int>(identity->node);
}

}  // namespace

CUCO_HOST_EXPORT int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  // Every rank is known to the server from here on, also one that never calls CUDA again.
  if (const auto* api = server()) (void)api->identity();
  return result;
}

CUCO_HOST_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (const auto* api = server()) (void)api->identity();
  return result;
}

CUCO_HOST_EXPORT int MPI_Finalize() {
  synchronise(MPI_COMM_WORLD);
  return outside([] { return PMPI_Finalize(); });
}

CUCO_HOST_EXPORT double MPI_Wtime() {
  const auto* api = server();
  return api == nullptr ? PMPI_Wtime() : static_cast<double>(read_clock(*api)) * 1e-12;
}

CUCO_HOST_EXPORT int MPI_Get_processor_name(char* name, int* length) {
  if (server() == nullptr) return PMPI_Get_processor_name(name, length);
  *length = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "node%d", node());
  return MPI_SUCCESS;
}

// ---- communicators ----

CUCO_HOST_EXPORT int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* out) {
  synchronise(comm);
  const int result = PMPI_Comm_split(comm, colour, key, out);
  if (result == MPI_SUCCESS) name_child(comm, *out, colour);
  return result;
}

CUCO_HOST_EXPORT int MPI_Comm_split_type(
    MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out) {
  synchronise(comm);
  if (server() == nullptr || type != MPI_COMM_TYPE_SHARED) {
    const int result = PMPI_Comm_split_type(comm, type, key, info, out);
    if (result == MPI_SUCCESS) name_child(comm, *out, type);
    return result;
  }
  // Ranks share memory when the topology puts them on one node, whatever this machine is.
  const int result = PMPI_Comm_split(comm, node(), key, out);
  if (result == MPI_SUCCESS) name_child(comm, *out, node());
  return result;
}

CUCO_HOST_EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  synchronise(comm);
  const int result = PMPI_Comm_dup(comm, out);
  if (result == MPI_SUCCESS) name_child(comm, *out, 0);
  return result;
}

CUCO_HOST_EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out) {
  synchronise(comm);
  const int result = PMPI_Comm_create(comm, group, out);
  // Disjoint groups may be used at once: the first member's rank tells them apart.
  int first = 0;
  int translated = 0;
  MPI_Group all = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Group_size(group, &size);
  PMPI_Comm_group(comm, &all);
  if (size > 0) PMPI_Group_translate_ranks(group, 1, &first, all, &translated);
  PMPI_Group_free(&all);
  if (result == MPI_SUCCESS) name_child(comm, *out, translated);
  return result;
}

CUCO_HOST_EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* out) {
  // Only the group's members call; the communicator is named by who they are.
  synchronise(comm, group, tag);
  return PMPI_Comm_create_group(comm, group, tag, out);
}

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists cannot be parenthesised.
#define CUCO_MPI_MAKES_COMM(name, parameters, arguments)  \
  CUCO_HOST_EXPORT int MPI_##name parameters {            \
    synchronise(comm);                                    \
    const int result = PMPI_##name arguments;             \
    if (result == MPI_SUCCESS) name_child(comm, *out, 0); \
    return result;                                        \
  }
// NOLINTEND(bugprone-macro-parentheses)

CUCO_MPI_MAKES_COMM(Comm_dup_with_info,
                    (MPI_Comm comm, MPI_Info info, MPI_Comm* out),
                    (comm, info, out))
CUCO_MPI_MAKES_COMM(
    Cart_create,
    (MPI_Comm comm, int count, const int sizes[], const int wraps[], int reorder, MPI_Comm* out),
    (comm, count, sizes, wraps, reorder, out))
CUCO_MPI_MAKES_COMM(
    Graph_create,
    (MPI_Comm comm, int count, const int index[], const int edges[], int reorder, MPI_Comm* out),
    (comm, count, index, edges, reorder, out))
CUCO_MPI_MAKES_COMM(
    Dist_graph_create_adjacent,
    (MPI_Comm comm,
     int sources,
     const int from[],
     const int from_weights[],
     int targets,
     const int to[],
     const int to_weights[],
     MPI_Info info,
     int reorder,
     MPI_Comm* out),
    (comm, sources, from, from_weights, targets, to, to_weights, info, reorder, out))

CUCO_HOST_EXPORT int MPI_Cart_sub(MPI_Comm comm, const int kept[], MPI_Comm* out) {
  synchronise(comm);
  const int result = PMPI_Cart_sub(comm, kept, out);
  if (result != MPI_SUCCESS || *out == MPI_COMM_NULL) return result;
  // Ranks of one part agree on where it lies in the dimensions that were dropped.
  int dimensions = 0;
  int rank = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  PMPI_Comm_rank(comm, &rank);
  std::vector<int> place(static_cast<std::size_t>(dimensions));
  PMPI_Cart_coords(comm, rank, dimensions, place.data());
  std::int64_t colour = 0;
  for (int i = 0; i < dimensions; ++i) {
    colour = colour * 4096 + (kept[i] != 0 ? 0 : place[static_cast<std::size_t>(i)] + 1);
  }
  name_child(comm, *out, colour);
  return result;
}

CUCO_HOST_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  synchronise(*comm);
  forget(*comm);
  return PMPI_Comm_free(comm);
}

// ---- collectives: all ranks are there before anybody enters ----

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists cannot be parenthesised.
// With data on a device the non-blocking twin does it, which goes through the server.
#define CUCO_MPI_COLLECTIVE_OF(name, first, second, parameters, arguments, with_request) \
  CUCO_HOST_EXPORT int MPI_##name parameters {                                           \
    if (server() != nullptr && (is_on_device(first) || is_on_device(second))) {          \
      MPI_Request request = MPI_REQUEST_NULL;                                            \
      const int result = MPI_I##with_request;                                            \
      return result == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : result;     \
    }                                                                                    \
    synchronise(comm);                                                                   \
    return PMPI_##name arguments;                                                        \
  }
#define CUCO_MPI_COLLECTIVE(name, parameters, arguments) \
  CUCO_HOST_EXPORT int MPI_##name parameters {           \
    synchronise(comm);                                   \
    return PMPI_##name arguments;                        \
  }
// NOLINTEND(bugprone-macro-parentheses)

CUCO_MPI_COLLECTIVE(Barrier, (MPI_Comm comm), (comm))
CUCO_MPI_COLLECTIVE_OF(Bcast,
                       data,
                       data,
                       (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
                       (data, count, type, root, comm),
                       bcast(data, count, type, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(Reduce,
                       send,
                       recv,
                       (const void* send,
                        void* recv,
                        int count,
                        MPI_Datatype type,
                        MPI_Op op,
                        int root,
                        MPI_Comm comm),
                       (send, recv, count, type, op, root, comm),
                       reduce(send, recv, count, type, op, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Allreduce,
    send,
    recv,
    (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (send, recv, count, type, op, comm),
    allreduce(send, recv, count, type, op, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Gather,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     int recv_count,
     MPI_Datatype recv_type,
     int root,
     MPI_Comm comm),
    (send, send_count, send_type, recv, recv_count, recv_type, root, comm),
    gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Gatherv,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     const int counts[],
     const int places[],
     MPI_Datatype recv_type,
     int root,
     MPI_Comm comm),
    (send, send_count, send_type, recv, counts, places, recv_type, root, comm),
    gatherv(send, send_count, send_type, recv, counts, places, recv_type, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Scatter,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     int recv_count,
     MPI_Datatype recv_type,
     int root,
     MPI_Comm comm),
    (send, send_count, send_type, recv, recv_count, recv_type, root, comm),
    scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Scatterv,
    send,
    recv,
    (const void* send,
     const int counts[],
     const int places[],
     MPI_Datatype send_type,
     void* recv,
     int recv_count,
     MPI_Datatype recv_type,
     int root,
     MPI_Comm comm),
    (send, counts, places, send_type, recv, recv_count, recv_type, root, comm),
    scatterv(send, counts, places, send_type, recv, recv_count, recv_type, root, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Allgather,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     int recv_count,
     MPI_Datatype recv_type,
     MPI_Comm comm),
    (send, send_count, send_type, recv, recv_count, recv_type, comm),
    allgather(send, send_count, send_type, recv, recv_count, recv_type, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Allgatherv,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     const int counts[],
     const int places[],
     MPI_Datatype recv_type,
     MPI_Comm comm),
    (send, send_count, send_type, recv, counts, places, recv_type, comm),
    allgatherv(send, send_count, send_type, recv, counts, places, recv_type, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Alltoall,
    send,
    recv,
    (const void* send,
     int send_count,
     MPI_Datatype send_type,
     void* recv,
     int recv_count,
     MPI_Datatype recv_type,
     MPI_Comm comm),
    (send, send_count, send_type, recv, recv_count, recv_type, comm),
    alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Alltoallv,
    send,
    recv,
    (const void* send,
     const int send_counts[],
     const int send_places[],
     MPI_Datatype send_type,
     void* recv,
     const int recv_counts[],
     const int recv_places[],
     MPI_Datatype recv_type,
     MPI_Comm comm),
    (send, send_counts, send_places, send_type, recv, recv_counts, recv_places, recv_type, comm),
    alltoallv(send,
              send_counts,
              send_places,
              send_type,
              recv,
              recv_counts,
              recv_places,
              recv_type,
              comm,
              &request))
CUCO_MPI_COLLECTIVE_OF(
    Reduce_scatter,
    send,
    recv,
    (const void* send, void* recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (send, recv, counts, type, op, comm),
    reduce_scatter(send, recv, counts, type, op, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Reduce_scatter_block,
    send,
    recv,
    (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (send, recv, count, type, op, comm),
    reduce_scatter_block(send, recv, count, type, op, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Scan,
    send,
    recv,
    (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (send, recv, count, type, op, comm),
    scan(send, recv, count, type, op, comm, &request))
CUCO_MPI_COLLECTIVE_OF(
    Exscan,
    send,
    recv,
    (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (send, recv, count, type, op, comm),
    exscan(send, recv, count, type, op, comm, &request))
CUCO_MPI_COLLECTIVE(
    Alltoallw,
    (const void* send,
     const int send_counts[],
     const int send_places[],
     const MPI_Datatype send_types[],
     void* recv,
     const int recv_counts[],
     const int recv_places[],
     const MPI_Datatype recv_types[],
     MPI_Comm comm),
    (send, send_counts, send_places, send_types, recv, recv_counts, recv_places, recv_types, comm))
CUCO_MPI_COLLECTIVE(Neighbor_allgather,
                    (const void* send,
                     int send_count,
                     MPI_Datatype send_type,
                     void* recv,
                     int recv_count,
                     MPI_Datatype recv_type,
                     MPI_Comm comm),
                    (send, send_count, send_type, recv, recv_count, recv_type, comm))
CUCO_MPI_COLLECTIVE(Neighbor_allgatherv,
                    (const void* send,
                     int send_count,
                     MPI_Datatype send_type,
                     void* recv,
                     const int counts[],
                     const int places[],
                     MPI_Datatype recv_type,
                     MPI_Comm comm),
                    (send, send_count, send_type, recv, counts, places, recv_type, comm))
CUCO_MPI_COLLECTIVE(Neighbor_alltoall,
                    (const void* send,
                     int send_count,
                     MPI_Datatype send_type,
                     void* recv,
                     int recv_count,
                     MPI_Datatype recv_type,
                     MPI_Comm comm),
                    (send, send_count, send_type, recv, recv_count, recv_type, comm))
CUCO_MPI_COLLECTIVE(
    Neighbor_alltoallv,
    (const void* send,
     const int send_counts[],
     const int send_places[],
     MPI_Datatype send_type,
     void* recv,
     const int recv_counts[],
     const int recv_places[],
     MPI_Datatype recv_type,
     MPI_Comm comm),
    (send, send_counts, send_places, send_type, recv, recv_counts, recv_places, recv_type, comm))
