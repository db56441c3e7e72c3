// SPDX-License-Identifier: Apache-2.0
#include "hostlib/mpi_matching.h"

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "hostlib/server.h"

namespace cuco::hostlib {
namespace {

constexpr std::uint32_t kEverywhere = 1;

struct CommState {
  std::uint64_t name = 0;
  std::uint64_t collectives = 0;
  std::uint64_t children = 0;
  int rank = 0;
  int size = 1;
  std::map<std::pair<int, int>, std::uint64_t> sent, received;  ///< By peer and tag.
};

/// What this process knows about its communicators.
struct Comms {
  std::mutex mutex;
  std::map<MPI_Comm, CommState> states;
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

CommState make_state(MPI_Comm comm, std::uint64_t name) {
  CommState state;
  state.name = name;
  PMPI_Comm_rank(comm, &state.rank);
  PMPI_Comm_size(comm, &state.size);
  return state;
}

/// Null: a communicator that came from a call we do not wrap. The caller holds the lock.
CommState* find(MPI_Comm comm) {
  Comms& all = comms();
  const auto found = all.states.find(comm);
  if (found != all.states.end()) return &found->second;
  if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) return nullptr;
  return &(all.states[comm] = make_state(comm, comm == MPI_COMM_WORLD ? 1 : 2));
}

MessageName name_of(int peer, int tag, MPI_Comm comm, bool is_send, bool takes = true) {
  const std::lock_guard lock(comms().mutex);
  CommState* state = find(comm);
  if (state == nullptr || peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) return {};
  std::uint64_t& next = (is_send ? state->sent : state->received)[{peer, tag}];
  const std::uint64_t number = takes ? next++ : next;
  const int source = is_send ? state->rank : peer;
  const int destination = is_send ? peer : state->rank;
  const std::uint64_t name = mix(state->name, source, destination, tag, number);
  return {mix(name, 1), mix(name, 2), true};
}

}  // namespace

void synchronise(MPI_Comm comm) {
  const wire::ClientApi* api = server();
  if (api == nullptr) return;
  std::uint64_t key = 0;
  std::uint32_t size = 0;
  {
    const std::lock_guard lock(comms().mutex);
    CommState* state = find(comm);
    if (state == nullptr || state->size < 2) return;
    key = mix(state->name, 3, state->collectives++);
    size = static_cast<std::uint32_t>(state->size);
  }
  meet(*api, key, kEverywhere, size, wire::HostWait::MessagePassing);
}

MessageName next_sent(int peer, int tag, MPI_Comm comm) {
  return name_of(peer, tag, comm, true);
}

MessageName next_received(int peer, int tag, MPI_Comm comm) {
  return name_of(peer, tag, comm, false);
}

MessageName peek_received(int peer, int tag, MPI_Comm comm) {
  return name_of(peer, tag, comm, false, false);
}

int size_of(MPI_Comm comm) {
  const std::lock_guard lock(comms().mutex);
  const CommState* state = find(comm);
  return state == nullptr ? 0 : state->size;
}

std::int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return std::int64_t{count} * size;
}

void name_child(MPI_Comm parent, MPI_Comm child, std::int64_t colour) {
  const std::lock_guard lock(comms().mutex);
  CommState* state = find(parent);
  if (state == nullptr) return;
  const std::uint64_t number = state->children++;
  if (child == MPI_COMM_NULL) return;
  const std::uint64_t name = mix(state->name, 4, number, colour);
  comms().states[child] = make_state(child, name);
}

void forget(MPI_Comm comm) {
  const std::lock_guard lock(comms().mutex);
  comms().states.erase(comm);
}

}  // namespace cuco::hostlib
