// SPDX-License-Identifier: Apache-2.0
// Start, end, clock, names and communicators of MPI.
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_comms.h"

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
// NOLINTBEGIN(readability-function-size): MPI's signatures.
CUCO_MPI_MAKES_COMM(Dist_graph_create,
                    (MPI_Comm comm,
                     int count,
                     const int nodes[],
                     const int degrees[],
                     const int targets[],
                     const int weights[],
                     MPI_Info info,
                     int reorder,
                     MPI_Comm* out),
                    (comm, count, nodes, degrees, targets, weights, info, reorder, out))
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
// NOLINTEND(readability-function-size)

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

CUCO_HOST_EXPORT int MPI_Intercomm_create(
    MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm* out) {
  // Nobody knows the other group before. The communicator is named by the members of both.
  return outside(
      [&] { return PMPI_Intercomm_create(local, leader, peers, remote_leader, tag, out); });
}

CUCO_MPI_MAKES_COMM(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* out), (comm, high, out))

CUCO_HOST_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  synchronise(*comm);
  forget(*comm);
  return PMPI_Comm_free(comm);
}

// ---- dynamic processes: the server knows those that it was started with ----

namespace {

int refuse(const char* call, MPI_Comm comm) {
  std::fprintf(stderr,
               "cuco: %s: a virtual cluster has the processes it is started with; start all ranks "
               "with cuco run --ranks N\n",
               call);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_SPAWN);
  return MPI_ERR_SPAWN;
}

}  // namespace

// NOLINTBEGIN(readability-function-size): MPI's signatures.
CUCO_HOST_EXPORT int MPI_Comm_spawn(const char* command,
                                    char* argv[],
                                    int count,
                                    MPI_Info info,
                                    int root,
                                    MPI_Comm comm,
                                    MPI_Comm* out,
                                    int errors[]) {
  if (server() != nullptr) return refuse("MPI_Comm_spawn", comm);
  return PMPI_Comm_spawn(command, argv, count, info, root, comm, out, errors);
}

CUCO_HOST_EXPORT int MPI_Comm_spawn_multiple(int count,
                                             char* commands[],
                                             char** argvs[],
                                             const int counts[],
                                             const MPI_Info infos[],
                                             int root,
                                             MPI_Comm comm,
                                             MPI_Comm* out,
                                             int errors[]) {
  if (server() != nullptr) return refuse("MPI_Comm_spawn_multiple", comm);
  return PMPI_Comm_spawn_multiple(count, commands, argvs, counts, infos, root, comm, out, errors);
}
// NOLINTEND(readability-function-size)

CUCO_HOST_EXPORT int MPI_Comm_accept(
    const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* out) {
  if (server() != nullptr) return refuse("MPI_Comm_accept", comm);
  return PMPI_Comm_accept(port, info, root, comm, out);
}

CUCO_HOST_EXPORT int MPI_Comm_connect(
    const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* out) {
  if (server() != nullptr) return refuse("MPI_Comm_connect", comm);
  return PMPI_Comm_connect(port, info, root, comm, out);
}
