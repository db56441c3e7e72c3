// SPDX-License-Identifier: Apache-2.0
// Blocking collectives of MPI: all ranks are there before anybody enters.
#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_comms.h"
#include "shims/hostlib/mpi/mpi_mail.h"

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

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
CUCO_MPI_COLLECTIVE_OF(
    Alltoallw,
    send,
    recv,
    (const void* send,
     const int send_counts[],
     const int send_places[],
     const MPI_Datatype send_types[],
     void* recv,
     const int recv_counts[],
     const int recv_places[],
     const MPI_Datatype recv_types[],
     MPI_Comm comm),
    (send, send_counts, send_places, send_types, recv, recv_counts, recv_places, recv_types, comm),
    alltoallw(send,
              send_counts,
              send_places,
              send_types,
              recv,
              recv_counts,
              recv_places,
              recv_types,
              comm,
              &request))
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
