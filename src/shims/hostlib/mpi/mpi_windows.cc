// SPDX-License-Identifier: Apache-2.0
// One-sided MPI. The operations themselves are MPI's; what waits is told to the server. Epochs of
// fences meet like collectives, exclusive locks are handed on in virtual time, and other locks and
// epochs wait outside of it. MPI moves data only while the target is inside MPI: as long as there
// are windows, whoever waits for a message or a collective lets MPI work meanwhile (make_progress).
#include <vector>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_comms.h"

namespace cuco::hostlib {
namespace {

constexpr std::uint32_t kEverywhere = 1;
constexpr std::int64_t kProgressPause = 10'000'000;  // 10 us of virtual time

void add_window(MPI_Comm comm, MPI_Win window) {
  const auto* api = server();
  if (api == nullptr) return;
  name_window(comm, window);
  post(*api, lock_of(window, rank_in(window)), kEverywhere);  // Its lock is free.
}

/// Real calls that wait for others in ways that cannot be predicted.
template <typename Call>
int outside(Call call) {
  const auto* api = server();
  if (api == nullptr) return call();
  const Outside blocked(*api, wire::HostWait::MessagePassing);
  return call();
}

/// Who holds which exclusive lock, to be let go by the unlock.
struct Held {
  MPI_Win window = MPI_WIN_NULL;
  int rank = 0;
};
thread_local std::vector<Held> held;

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int MPI_Win_create(
    void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  synchronise(comm);
  const int result = PMPI_Win_create(base, bytes, unit, info, comm, window);
  if (result == MPI_SUCCESS) add_window(comm, *window);
  return result;
}

CUCO_HOST_EXPORT int MPI_Win_allocate(
    MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  synchronise(comm);
  const int result = PMPI_Win_allocate(bytes, unit, info, comm, base, window);
  if (result == MPI_SUCCESS) add_window(comm, *window);
  return result;
}

CUCO_HOST_EXPORT int MPI_Win_allocate_shared(
    MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  synchronise(comm);
  const int result = PMPI_Win_allocate_shared(bytes, unit, info, comm, base, window);
  if (result == MPI_SUCCESS) add_window(comm, *window);
  return result;
}

CUCO_HOST_EXPORT int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  synchronise(comm);
  const int result = PMPI_Win_create_dynamic(info, comm, window);
  if (result == MPI_SUCCESS) add_window(comm, *window);
  return result;
}

CUCO_HOST_EXPORT int MPI_Win_free(MPI_Win* window) {
  synchronise(*window);
  const MPI_Win freed = *window;
  const int result = PMPI_Win_free(window);
  if (server() != nullptr) forget(freed);
  return result;
}

CUCO_HOST_EXPORT int MPI_Win_fence(int assertion, MPI_Win window) {
  synchronise(window);
  return PMPI_Win_fence(assertion, window);
}

CUCO_HOST_EXPORT int MPI_Win_lock(int type, int rank, int assertion, MPI_Win window) {
  if (const auto* api = server(); api != nullptr && type == MPI_LOCK_EXCLUSIVE) {
    while (!wait(*api, lock_of(window, rank), kEverywhere, cuco::wire::HostWait::MessagePassing,
                 kProgressPause)) {
      make_progress();
    }
    held.push_back({window, rank});
  }
  return outside([&] { return PMPI_Win_lock(type, rank, assertion, window); });
}

CUCO_HOST_EXPORT int MPI_Win_unlock(int rank, MPI_Win window) {
  const int result = outside([&] { return PMPI_Win_unlock(rank, window); });
  const auto* api = server();
  for (auto it = held.begin(); api != nullptr && it != held.end(); ++it) {
    if (it->window != window || it->rank != rank) continue;
    held.erase(it);
    post(*api, lock_of(window, rank), kEverywhere);
    break;
  }
  return result;
}

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists cannot be parenthesised.
#define CUCO_MPI_OUTSIDE(name, parameters, arguments)      \
  CUCO_HOST_EXPORT int MPI_##name parameters {             \
    return outside([&] { return PMPI_##name arguments; }); \
  }
// NOLINTEND(bugprone-macro-parentheses)

CUCO_MPI_OUTSIDE(Win_lock_all, (int assertion, MPI_Win window), (assertion, window))
CUCO_MPI_OUTSIDE(Win_unlock_all, (MPI_Win window), (window))
CUCO_MPI_OUTSIDE(Win_flush, (int rank, MPI_Win window), (rank, window))
CUCO_MPI_OUTSIDE(Win_flush_all, (MPI_Win window), (window))
CUCO_MPI_OUTSIDE(Win_flush_local, (int rank, MPI_Win window), (rank, window))
CUCO_MPI_OUTSIDE(Win_flush_local_all, (MPI_Win window), (window))
CUCO_MPI_OUTSIDE(Win_start,
                 (MPI_Group group, int assertion, MPI_Win window),
                 (group, assertion, window))
CUCO_MPI_OUTSIDE(Win_post,
                 (MPI_Group group, int assertion, MPI_Win window),
                 (group, assertion, window))
CUCO_MPI_OUTSIDE(Win_complete, (MPI_Win window), (window))
CUCO_MPI_OUTSIDE(Win_wait, (MPI_Win window), (window))
