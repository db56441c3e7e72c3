// SPDX-License-Identifier: Apache-2.0
// Sends, receives, probes and requests of MPI.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "hostlib/mpi_matching.h"
#include "hostlib/server.h"
#include "wire/messages_matching.h"

namespace cuco::hostlib {
namespace {

void announce(const wire::ClientApi& api, std::uint64_t key) {
  wire::Nothing reply;
  (void)wire::call(api, wire::MessagePost{key}, &reply);
}

void await_message(const wire::ClientApi& api, std::uint64_t key) {
  wire::Nothing reply;
  (void)wire::call(api, wire::MessageWait{key}, &reply);
}

bool take_message(const wire::ClientApi& api, std::uint64_t key) {
  wire::MessageTest::Reply reply;
  return wire::call(api, wire::MessageTest{key}, &reply) == wire::kSuccess && reply.taken != 0;
}

std::uint32_t await_any(const wire::ClientApi& api, const std::vector<std::uint64_t>& keys) {
  wire::MessageWaitAny request;
  request.count = static_cast<std::uint32_t>(keys.size());
  wire::MessageWaitAny::Reply reply;
  (void)wire::call(api, request, &reply, std::as_bytes(std::span(keys)));
  return reply.index;
}

/// Said once: the order of such messages is this machine's, not the simulation's.
void note_unrepeatable(const char* what) {
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (said.test_and_set()) return;
  std::fprintf(stderr, "cuco: note: this run may differ when repeated: it uses %s\n", what);
}

/// Turns MPI_ANY_SOURCE into the rank whose message comes first in virtual time, and takes that
/// announcement; anything else stays as it is. False: nobody can say (MPI_ANY_TAG).
bool choose_source(const wire::ClientApi& api, int* peer, int tag, MPI_Comm comm) {
  const int size = size_of(comm);
  if (*peer != MPI_ANY_SOURCE || tag == MPI_ANY_TAG || size == 0) return false;
  std::vector<std::uint64_t> keys;
  for (int rank = 0; rank < size; ++rank)
    keys.push_back(peek_received(rank, tag, comm).sent);
  *peer = static_cast<int>(await_any(api, keys));
  return true;
}

/// A message was received that had no name before: its number is used up.
void account(const wire::ClientApi& api, const MPI_Status& status, MPI_Comm comm) {
  const MessageName name = next_received(status.MPI_SOURCE, status.MPI_TAG, comm);
  if (name.is_known) (void)take_message(api, name.sent);
}

/// What has to be true on the server before a request can complete: 0, nothing.
struct Requests {
  std::mutex mutex;
  std::map<MPI_Request, std::uint64_t> conditions;
};
Requests& requests() {
  static auto* const kRequests = new Requests;
  return *kRequests;
}

void remember(MPI_Request request, std::uint64_t condition) {
  const std::lock_guard lock(requests().mutex);
  requests().conditions[request] = condition;
}

/// Takes what the request waits for; kUnknown for a request that is not ours.
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
std::uint64_t look_up(MPI_Request request) {
  const std::lock_guard lock(requests().mutex);
  const auto found = requests().conditions.find(request);
  return found == requests().conditions.end() ? kUnknown : found->second;
}
void forget_request(MPI_Request request) {
  const std::lock_guard lock(requests().mutex);
  requests().conditions.erase(request);
}

/// Waits on the server for what the request needs; false: nobody can say what that is.
bool await(const wire::ClientApi& api, MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return true;
  const std::uint64_t condition = look_up(request);
  if (condition == kUnknown) return false;
  if (condition != 0) await_message(api, condition);
  forget_request(request);
  return true;
}

/// Announces a send. Returns what its completion waits for.
std::uint64_t announce_send(const wire::ClientApi& api,
                            const MessageName& name,
                            std::int64_t bytes) {
  if (!name.is_known) return 0;
  announce(api, name.sent);
  return bytes > kEagerBytes ? name.wanted : 0;
}

/// Announces a receive. Returns what its completion waits for.
std::uint64_t announce_receive(const wire::ClientApi& api, const MessageName& name) {
  if (!name.is_known) return kUnknown;
  announce(api, name.wanted);
  return name.sent;
}

template <typename Call>
int send(
    const wire::ClientApi* api, std::int64_t bytes, int peer, int tag, MPI_Comm comm, Call call) {
  if (api == nullptr || peer == MPI_PROC_NULL) return call();
  const std::uint64_t condition = announce_send(*api, next_sent(peer, tag, comm), bytes);
  if (condition == 0) return call();
  await_message(*api, condition);
  // The receiver may have asked with MPI_Irecv and gone on: until it comes back to MPI the real
  // call blocks, and the simulation must not wait for it.
  const Outside outside(*api, wire::HostWait::MessagePassing);
  return call();
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions
using cuco::wire::HostWait;

CUCO_HOST_EXPORT int MPI_Send(
    const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  return send(server(), bytes_of(count, type), peer, tag, comm,
              [&] { return PMPI_Send(data, count, type, peer, tag, comm); });
}

CUCO_HOST_EXPORT int MPI_Ssend(
    const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  return send(server(), kEagerBytes + 1, peer, tag, comm,
              [&] { return PMPI_Ssend(data, count, type, peer, tag, comm); });
}

CUCO_HOST_EXPORT int MPI_Recv(void* data,
                              int count,
                              MPI_Datatype type,
                              int peer,
                              int tag,
                              MPI_Comm comm,
                              MPI_Status* status) {
  const auto* api = server();
  const auto call = [&] { return PMPI_Recv(data, count, type, peer, tag, comm, status); };
  if (api == nullptr || peer == MPI_PROC_NULL) return call();
  const bool chosen = choose_source(*api, &peer, tag, comm);
  const std::uint64_t condition = announce_receive(*api, next_received(peer, tag, comm));
  if (condition != kUnknown) {
    if (!chosen) await_message(*api, condition);
    if (bytes_of(count, type) <= kEagerBytes) return call();
  } else {
    note_unrepeatable("MPI_Recv with MPI_ANY_TAG");
    MPI_Status seen;
    int result = MPI_SUCCESS;
    {
      const Outside outside(*api, HostWait::MessagePassing);
      result = PMPI_Recv(data, count, type, peer, tag, comm, &seen);
    }
    if (result == MPI_SUCCESS) account(*api, seen, comm);
    if (status != MPI_STATUS_IGNORE) *status = seen;
    return result;
  }
  // A large message moves only while both ends are inside MPI, and the sender may wait for others.
  const Outside outside(*api, HostWait::MessagePassing);
  return call();
}

// NOLINTNEXTLINE(readability-function-size): MPI's signature.
CUCO_HOST_EXPORT int MPI_Sendrecv(const void* out,
                                  int out_count,
                                  MPI_Datatype out_type,
                                  int to,
                                  int out_tag,
                                  void* in,
                                  int in_count,
                                  MPI_Datatype in_type,
                                  int from,
                                  int in_tag,
                                  MPI_Comm comm,
                                  MPI_Status* status) {
  const auto call = [&] {
    return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                         comm, status);
  };
  const auto* api = server();
  if (api == nullptr) return call();
  std::uint64_t sent = 0;
  std::uint64_t arrives = 0;
  if (to != MPI_PROC_NULL) {
    sent = announce_send(*api, next_sent(to, out_tag, comm), bytes_of(out_count, out_type));
  }
  if (from != MPI_PROC_NULL) arrives = announce_receive(*api, next_received(from, in_tag, comm));
  for (const std::uint64_t condition : {sent, arrives}) {
    if (condition != 0 && condition != kUnknown) await_message(*api, condition);
  }
  // The partners may still wait for partners of theirs.
  const Outside outside(*api, HostWait::MessagePassing);
  return call();
}

CUCO_HOST_EXPORT int MPI_Isend(const void* data,
                               int count,
                               MPI_Datatype type,
                               int peer,
                               int tag,
                               MPI_Comm comm,
                               MPI_Request* request) {
  const auto* api = server();
  const int result = PMPI_Isend(data, count, type, peer, tag, comm, request);
  if (api != nullptr && result == MPI_SUCCESS) {
    const bool real = peer != MPI_PROC_NULL;
    remember(*request,
             real ? announce_send(*api, next_sent(peer, tag, comm), bytes_of(count, type)) : 0);
  }
  return result;
}

CUCO_HOST_EXPORT int MPI_Irecv(void* data,
                               int count,
                               MPI_Datatype type,
                               int peer,
                               int tag,
                               MPI_Comm comm,
                               MPI_Request* request) {
  const auto* api = server();
  const int result = PMPI_Irecv(data, count, type, peer, tag, comm, request);
  if (api != nullptr && result == MPI_SUCCESS) {
    const bool real = peer != MPI_PROC_NULL;
    remember(*request, real ? announce_receive(*api, next_received(peer, tag, comm)) : 0);
  }
  return result;
}

CUCO_HOST_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Wait(request, status);
  (void)await(*api, *request);
  const Outside outside(*api, HostWait::MessagePassing);
  return PMPI_Wait(request, status);
}

CUCO_HOST_EXPORT int MPI_Waitall(int count, MPI_Request all[], MPI_Status statuses[]) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Waitall(count, all, statuses);
  for (int i = 0; i < count; ++i)
    (void)await(*api, all[i]);
  const Outside outside(*api, HostWait::MessagePassing);
  return PMPI_Waitall(count, all, statuses);
}

CUCO_HOST_EXPORT int MPI_Waitany(int count, MPI_Request all[], int* index, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Waitany(count, all, index, status);
  // The request that is ready first in virtual time. One that waits for nothing is ready.
  std::vector<std::uint64_t> keys;
  std::vector<int> places;
  bool all_known = true;
  int ready = -1;
  for (int i = 0; i < count && ready < 0; ++i) {
    if (all[i] == MPI_REQUEST_NULL) continue;
    const std::uint64_t condition = look_up(all[i]);
    if (condition == 0) ready = i;
    all_known = all_known && condition != kUnknown;
    keys.push_back(condition);
    places.push_back(i);
  }
  if (ready < 0 && all_known && !keys.empty()) ready = places[await_any(*api, keys)];
  const Outside outside(*api, HostWait::MessagePassing);
  if (ready >= 0) {
    forget_request(all[ready]);
    *index = ready;
    return PMPI_Wait(&all[ready], status);
  }
  if (!keys.empty()) note_unrepeatable("MPI_Waitany with MPI_ANY_SOURCE or MPI_ANY_TAG");
  const std::vector<MPI_Request> before(all, all + count);
  const int result = PMPI_Waitany(count, all, index, status);
  if (*index != MPI_UNDEFINED) forget_request(before[static_cast<std::size_t>(*index)]);
  return result;
}

CUCO_HOST_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const auto* api = server();
  const std::uint64_t condition =
      api == nullptr || *request == MPI_REQUEST_NULL ? kUnknown : look_up(*request);
  if (condition == kUnknown) return PMPI_Test(request, flag, status);
  *flag = condition == 0 || take_message(*api, condition) ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  forget_request(*request);
  return PMPI_Wait(request, status);
}

CUCO_HOST_EXPORT int MPI_Waitsome(
    int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  if (server() == nullptr) return PMPI_Waitsome(count, all, done, indices, statuses);
  // One is some, and which one is a matter of virtual time.
  MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses;
  const int result = MPI_Waitany(count, all, indices, status);
  *done = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
  return result;
}

CUCO_HOST_EXPORT int MPI_Testany(
    int count, MPI_Request all[], int* index, int* flag, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Testany(count, all, index, flag, status);
  *flag = 0;
  *index = MPI_UNDEFINED;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    if (all[i] == MPI_REQUEST_NULL) continue;
    any = true;
    const int result = MPI_Test(&all[i], flag, status);
    if (result != MPI_SUCCESS || *flag != 0) {
      *index = i;
      return result;
    }
  }
  if (!any) *flag = 1;
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Testall(int count, MPI_Request all[], int* flag, MPI_Status statuses[]) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Testall(count, all, flag, statuses);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t condition = all[i] == MPI_REQUEST_NULL ? 0 : look_up(all[i]);
    if (condition == kUnknown) return PMPI_Testall(count, all, flag, statuses);
    *flag = condition == 0 || take_message(*api, condition) ? 1 : 0;
    if (*flag == 0) return MPI_SUCCESS;
    if (condition != 0) remember(all[i], 0);  // It has come; that cannot be undone.
  }
  *flag = 1;
  return MPI_Waitall(count, all, statuses);
}

CUCO_HOST_EXPORT int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Probe(peer, tag, comm, status);
  const bool chosen = choose_source(*api, &peer, tag, comm);
  const MessageName name = peek_received(peer, tag, comm);
  if (name.is_known) {
    if (!chosen) await_message(*api, name.sent);
    // A probe takes nothing: the message is there for the receive.
    announce(*api, name.sent);
    // The sender of a large one waits for a receive: it may go on to its real call.
    announce(*api, name.wanted);
  } else {
    note_unrepeatable("MPI_Probe with MPI_ANY_TAG");
  }
  const Outside outside(*api, HostWait::MessagePassing);
  return PMPI_Probe(peer, tag, comm, status);
}

CUCO_HOST_EXPORT int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const auto* api = server();
  const MessageName name = api == nullptr ? MessageName{} : peek_received(peer, tag, comm);
  if (!name.is_known) {
    if (api != nullptr) note_unrepeatable("MPI_Iprobe with MPI_ANY_SOURCE or MPI_ANY_TAG");
    return PMPI_Iprobe(peer, tag, comm, flag, status);
  }
  *flag = take_message(*api, name.sent) ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  announce(*api, name.sent);
  announce(*api, name.wanted);
  const Outside outside(*api, HostWait::MessagePassing);
  return PMPI_Probe(peer, tag, comm, status);
}
