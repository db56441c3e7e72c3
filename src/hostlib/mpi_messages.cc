// SPDX-License-Identifier: Apache-2.0
// Sends, receives, probes and requests of MPI.
#include <cstdint>
#include <map>
#include <mutex>
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
  const std::uint64_t condition = announce_receive(*api, next_received(peer, tag, comm));
  if (condition != kUnknown) {
    await_message(*api, condition);
    if (bytes_of(count, type) <= kEagerBytes) return call();
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
  // The lowest request that is ready in virtual time; else whichever comes, which is nobody's
  // order.
  for (int i = 0; i < count; ++i) {
    if (all[i] == MPI_REQUEST_NULL) continue;
    const std::uint64_t condition = look_up(all[i]);
    if (condition == kUnknown) continue;
    if (condition != 0 && !take_message(*api, condition)) continue;
    forget_request(all[i]);
    *index = i;
    return PMPI_Wait(&all[i], status);
  }
  const Outside outside(*api, HostWait::MessagePassing);
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

CUCO_HOST_EXPORT int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  // A probe takes nothing: its message cannot be counted here, only be waited for.
  const auto* api = server();
  if (api == nullptr) return PMPI_Probe(peer, tag, comm, status);
  const Outside outside(*api, HostWait::MessagePassing);
  return PMPI_Probe(peer, tag, comm, status);
}
