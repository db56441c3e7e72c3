// SPDX-License-Identifier: Apache-2.0
#include "shims/hostlib/mpi/mpi_comms.h"

#include <map>
#include <mutex>
#include <numeric>

#include "shims/hostlib/host_server.h"

namespace cuco::hostlib {
namespace {

constexpr std::uint32_t kEverywhere = 1;

struct CommState {
  CommFacts facts;
  std::uint64_t collectives = 0;
  std::uint64_t children = 0;
};

/// What this process knows about its communicators and windows.
struct Comms {
  std::mutex mutex;
  std::map<MPI_Comm, CommState> states;
  std::map<MPI_Win, CommState> windows;
  std::map<MPI_File, CommState> files;
};
Comms& comms() {
  static auto* const kComms = new Comms;  // MPI calls may come from destructors of globals.
  return *kComms;
}

/// Mixes words into a name; the same in every process.
template <typename... Words>
std::uint64_t mix(Words... words) {
  std::uint64_t hash = 0x9E3779B97F4A7C15;
  for (const std::uint64_t word : {static_cast<std::uint64_t>(words)...}) {
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9;
    hash ^= hash >> 29U;
  }
  return hash;
}

std::vector<int> world_ranks_of(MPI_Group members) {
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  PMPI_Group_size(members, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> result(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(members, size, ranks.data(), world, result.data());
  PMPI_Group_free(&world);
  return result;
}

bool is_between_groups(MPI_Comm comm) {
  int answer = 0;
  PMPI_Comm_test_inter(comm, &answer);
  return answer != 0;
}

/// Ranks in the world of the own group, or of the other.
std::vector<int> members_of(MPI_Comm comm, bool remote) {
  MPI_Group members = MPI_GROUP_NULL;
  (remote ? PMPI_Comm_remote_group : PMPI_Comm_group)(comm, &members);
  std::vector<int> result = world_ranks_of(members);
  PMPI_Group_free(&members);
  return result;
}

/// All members, in an order that both groups agree on.
std::vector<int> everyone_in(MPI_Comm comm) {
  std::vector<int> all = members_of(comm, false);
  if (!is_between_groups(comm)) return all;
  const std::vector<int> others = members_of(comm, true);
  all.insert(all.front() < others.front() ? all.end() : all.begin(), others.begin(), others.end());
  return all;
}

CommState make_state(MPI_Comm comm, std::uint64_t name) {
  CommState state;
  state.facts.name = name;
  PMPI_Comm_rank(comm, &state.facts.rank);
  PMPI_Comm_size(comm, &state.facts.size);
  state.facts.world = members_of(comm, is_between_groups(comm));
  state.facts.everyone = static_cast<int>(everyone_in(comm).size());
  return state;
}

/// The caller holds the lock.
CommState& find(MPI_Comm comm) {
  Comms& all = comms();
  const auto found = all.states.find(comm);
  if (found != all.states.end()) return found->second;
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) {
    return all.states[comm] = make_state(comm, comm == MPI_COMM_WORLD ? 1 : 2);
  }
  CommState state = make_state(comm, 0);
  std::uint64_t name = 5;
  for (const int member : everyone_in(comm))
    name = mix(name, member);
  state.facts.name = name;
  return all.states[comm] = state;
}

void meet_all(CommState& state) {
  const wire::ClientApi* api = server();
  if (api == nullptr || state.facts.everyone < 2) return;
  const std::uint64_t key = mix(state.facts.name, 3, state.collectives++);
  meet(*api, key, kEverywhere, static_cast<std::uint32_t>(state.facts.everyone),
       wire::HostWait::MessagePassing);
}

/// What all ranks of a communicator make together. The caller holds the lock.
CommState make_thing(MPI_Comm comm, std::uint64_t kind) {
  CommState& state = find(comm);
  CommState made = state;
  made.facts.name = mix(state.facts.name, kind, state.children++);
  made.collectives = 0;
  return made;
}

template <typename Handle>
void meet_over(std::map<Handle, CommState>& things, Handle thing) {
  CommState state;
  {
    const std::lock_guard lock(comms().mutex);
    const auto found = things.find(thing);
    if (found == things.end()) return;
    state = found->second;
    if (state.facts.everyone > 1) ++found->second.collectives;
  }
  meet_all(state);
}

}  // namespace

CommFacts facts_of(MPI_Comm comm) {
  const std::lock_guard lock(comms().mutex);
  return find(comm).facts;
}

std::uint64_t next_collective(MPI_Comm comm) {
  const std::lock_guard lock(comms().mutex);
  CommState& state = find(comm);
  return mix(state.facts.name, 3, state.collectives++);
}

std::uint32_t world_rank() {
  static const int kRank = [] {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }();
  return static_cast<std::uint32_t>(kRank);
}

void synchronise(MPI_Comm comm) {
  if (server() == nullptr || comm == MPI_COMM_NULL) return;
  CommState state;
  {
    const std::lock_guard lock(comms().mutex);
    CommState& own = find(comm);
    state = own;
    if (own.facts.everyone > 1) ++own.collectives;
  }
  if (has_windows() && state.facts.everyone > 1) {
    // Others may need this process inside MPI before they get here.
    const Outside outside(*server(), wire::HostWait::MessagePassing);
    PMPI_Barrier(comm);
  }
  meet_all(state);
}

void synchronise(MPI_Comm comm, MPI_Group group, int tag) {
  const wire::ClientApi* api = server();
  const std::vector<int> members = api == nullptr ? std::vector<int>{} : world_ranks_of(group);
  if (members.size() < 2) return;
  std::uint64_t key = mix(facts_of(comm).name, 8, tag);
  for (const int member : members)
    key = mix(key, member);
  meet(*api, key, kEverywhere, static_cast<std::uint32_t>(members.size()),
       wire::HostWait::MessagePassing);
}

void name_child(MPI_Comm parent, MPI_Comm child, std::int64_t colour) {
  const std::lock_guard lock(comms().mutex);
  CommState& state = find(parent);
  const std::uint64_t number = state.children++;
  if (child == MPI_COMM_NULL) return;
  const std::uint64_t name = mix(state.facts.name, 4, number, colour);
  comms().states[child] = make_state(child, name);
}

void forget(MPI_Comm comm) {
  const std::lock_guard lock(comms().mutex);
  comms().states.erase(comm);
}

void name_window(MPI_Comm comm, MPI_Win window) {
  const std::lock_guard lock(comms().mutex);
  comms().windows[window] = make_thing(comm, 6);
}

void synchronise(MPI_Win window) {
  meet_over(comms().windows, window);
}

void forget(MPI_Win window) {
  const std::lock_guard lock(comms().mutex);
  comms().windows.erase(window);
}

void name_file(MPI_Comm comm, MPI_File file) {
  const std::lock_guard lock(comms().mutex);
  comms().files[file] = make_thing(comm, 9);
}

void synchronise(MPI_File file) {
  meet_over(comms().files, file);
}

void forget(MPI_File file) {
  const std::lock_guard lock(comms().mutex);
  comms().files.erase(file);
}

std::uint64_t lock_of(MPI_Win window, int rank) {
  const std::lock_guard lock(comms().mutex);
  return mix(comms().windows[window].facts.name, 7, rank);
}

bool has_windows() {
  const std::lock_guard lock(comms().mutex);
  return !comms().windows.empty();
}

void make_progress() {
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

int rank_in(MPI_Win window) {
  const std::lock_guard lock(comms().mutex);
  return comms().windows[window].facts.rank;
}

}  // namespace cuco::hostlib
