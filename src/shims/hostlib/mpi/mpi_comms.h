// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names for communicators and windows that all their processes agree on without asking each other,
/// and meeting under these names.
///
/// A blocking MPI call may wait for another process, which the server cannot see. So messages go
/// through the server altogether (mpi_mail.h), and the ranks of a collective first meet there, in
/// virtual time, and make the real call only when it can no longer block. While the real call runs
/// the thread counts as running, and simulated time stands still.
#pragma once

#include <cstdint>
#include <vector>

#include <mpi.h>

namespace cuco::hostlib {

/// What this process knows about a communicator.
struct CommFacts {
  std::uint64_t name = 0;
  int rank = 0;
  int size = 1;
  int everyone = 1;        ///< Who takes part in a collective: of both groups, where there are two.
  std::vector<int> world;  ///< Of each rank (of the remote group between groups): in the world.
};

/// Always known: a communicator from a call that we do not wrap is named by its members.
[[nodiscard]] CommFacts facts_of(MPI_Comm comm);
/// A name for one collective operation; all ranks call it in the same order.
[[nodiscard]] std::uint64_t next_collective(MPI_Comm comm);
/// This process's rank in MPI_COMM_WORLD.
[[nodiscard]] std::uint32_t world_rank();

/// All ranks of the communicator meet. Nothing happens without a server.
void synchronise(MPI_Comm comm);
/// The members of a group of it meet.
void synchronise(MPI_Comm comm, MPI_Group group, int tag);

/// Gives a communicator made from `parent` a name that all its ranks agree on. `colour` tells apart
/// communicators made by the same call.
void name_child(MPI_Comm parent, MPI_Comm child, std::int64_t colour);
void forget(MPI_Comm comm);

/// Files: collective calls on one meet like those of the communicator it was opened with.
void name_file(MPI_Comm comm, MPI_File file);
void synchronise(MPI_File file);
void forget(MPI_File file);

/// Windows: named by all ranks of the communicator that make one.
void name_window(MPI_Comm comm, MPI_Win window);
void synchronise(MPI_Win window);
void forget(MPI_Win window);
/// The name of one rank's lock in it.
[[nodiscard]] std::uint64_t lock_of(MPI_Win window, int rank);
[[nodiscard]] int rank_in(MPI_Win window);
[[nodiscard]] bool has_windows();
/// Lets MPI move data of windows.
void make_progress();

}  // namespace cuco::hostlib
