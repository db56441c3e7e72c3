// SPDX-License-Identifier: Apache-2.0
// Point-to-point calls of MPI: sends, receives, probes.
#include "shims/hostlib/mpi/mpi_messages.h"

#include <memory>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_comms.h"
#include "shims/hostlib/mpi/mpi_mail.h"

namespace cuco::hostlib {
namespace {

/// An erroneous call does what the program has asked MPI to do in this case.
int fail(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

bool is_valid_peer(int peer, const CommFacts& facts) {
  return peer >= 0 && peer < static_cast<int>(facts.world.size());
}

/// A message that a matched probe has taken out of the matching.
struct Taken {
  std::uint64_t number = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};
MPI_Message handle_of(std::unique_ptr<Taken> taken) {
  return reinterpret_cast<MPI_Message>(taken.release());
}
std::unique_ptr<Taken> taken_of(MPI_Message* message) {
  std::unique_ptr<Taken> taken(reinterpret_cast<Taken*>(*message));
  *message = MPI_MESSAGE_NULL;
  return taken;
}

struct ProbeArguments {
  int peer = 0;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  bool waits = true;
  bool takes = false;
};

wire::MailProbe::Reply probe(const wire::ClientApi& api, const ProbeArguments& arguments) {
  wire::MailProbe request;
  request.comm = facts_of(arguments.comm).name;
  request.source = arguments.peer == MPI_ANY_SOURCE ? wire::kAnyMail : arguments.peer;
  request.tag = arguments.tag == MPI_ANY_TAG ? wire::kAnyMail : arguments.tag;
  request.me = world_rank();
  request.waits = arguments.waits ? 1 : 0;
  request.takes = arguments.takes ? 1 : 0;
  wire::MailProbe::Reply reply;
  (void)wire::call(api, request, &reply);
  return reply;
}

}  // namespace

Operation start_send(const wire::ClientApi& api, const SendArguments& send) {
  if (send.peer == MPI_PROC_NULL) return {};
  const CommFacts facts = facts_of(send.comm);
  if (!is_valid_peer(send.peer, facts)) {
    return {0, [comm = send.comm](MPI_Status*) { return fail(comm, MPI_ERR_RANK); }};
  }
  const Payload payload = pack(send.data, send.count, send.type, send.comm);
  const bool waits = send.mode == SendMode::Synchronous ||
                     (send.mode == SendMode::Standard && payload.size() > kEagerBytes);
  return {mail_send(api, {facts.name, facts.rank}, facts.world[static_cast<std::size_t>(send.peer)],
                    send.tag, payload, waits),
          nullptr};
}

int take(const wire::ClientApi& api,
         std::uint64_t number,
         const ReceiveArguments& receive,
         MPI_Status* status) {
  const Mail mail = mail_fetch(api, number);
  fill_status(status, mail.source, mail.tag, mail.payload.size());
  const int result = unpack(mail.payload, receive.data, receive.count, receive.type, receive.comm);
  return result == MPI_SUCCESS ? result : fail(receive.comm, result);
}

Operation start_receive(const wire::ClientApi& api, const ReceiveArguments& receive) {
  if (receive.peer == MPI_PROC_NULL) {
    return {0, [](MPI_Status* status) {
              fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
              return MPI_SUCCESS;
            }};
  }
  const CommFacts facts = facts_of(receive.comm);
  if (receive.peer != MPI_ANY_SOURCE && !is_valid_peer(receive.peer, facts)) {
    return {0, [comm = receive.comm](MPI_Status*) { return fail(comm, MPI_ERR_RANK); }};
  }
  const std::uint64_t number = mail_receive(api, facts.name, receive.peer, receive.tag);
  return {number, [&api, number, receive](MPI_Status* status) {
            return take(api, number, receive, status);
          }};
}

int complete(const wire::ClientApi& api, const Operation& operation, MPI_Status* status) {
  if (operation.number != 0) mail_wait(api, {operation.number});
  return operation.finish ? operation.finish(status) : MPI_SUCCESS;
}

}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

// ---- blocking ----

// NOLINTBEGIN(bugprone-macro-parentheses): names cannot be parenthesised.
#define CUCO_MPI_SEND(name, mode)                                                           \
  CUCO_HOST_EXPORT int MPI_##name(const void* data, int count, MPI_Datatype type, int peer, \
                                  int tag, MPI_Comm comm) {                                 \
    const auto* api = server();                                                             \
    if (api == nullptr) return PMPI_##name(data, count, type, peer, tag, comm);             \
    return complete(*api, start_send(*api, {data, count, type, peer, tag, comm, mode}),     \
                    MPI_STATUS_IGNORE);                                                     \
  }
#define CUCO_MPI_ISEND(name, mode)                                                          \
  CUCO_HOST_EXPORT int MPI_##name(const void* data, int count, MPI_Datatype type, int peer, \
                                  int tag, MPI_Comm comm, MPI_Request* request) {           \
    const auto* api = server();                                                             \
    if (api == nullptr) return PMPI_##name(data, count, type, peer, tag, comm, request);    \
    *request = new_request(start_send(*api, {data, count, type, peer, tag, comm, mode}));   \
    return MPI_SUCCESS;                                                                     \
  }
#define CUCO_MPI_SEND_INIT(name, mode)                                                      \
  CUCO_HOST_EXPORT int MPI_##name(const void* data, int count, MPI_Datatype type, int peer, \
                                  int tag, MPI_Comm comm, MPI_Request* request) {           \
    const auto* api = server();                                                             \
    if (api == nullptr) return PMPI_##name(data, count, type, peer, tag, comm, request);    \
    const SendArguments send{data, count, type, peer, tag, comm, mode};                     \
    *request = new_persistent_request([api, send] { return start_send(*api, send); });      \
    return MPI_SUCCESS;                                                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

CUCO_MPI_SEND(Send, SendMode::Standard)
CUCO_MPI_SEND(Rsend, SendMode::Standard)
CUCO_MPI_SEND(Ssend, SendMode::Synchronous)
CUCO_MPI_SEND(Bsend, SendMode::Buffered)
CUCO_MPI_ISEND(Isend, SendMode::Standard)
CUCO_MPI_ISEND(Irsend, SendMode::Standard)
CUCO_MPI_ISEND(Issend, SendMode::Synchronous)
CUCO_MPI_ISEND(Ibsend, SendMode::Buffered)
CUCO_MPI_SEND_INIT(Send_init, SendMode::Standard)
CUCO_MPI_SEND_INIT(Rsend_init, SendMode::Standard)
CUCO_MPI_SEND_INIT(Ssend_init, SendMode::Synchronous)
CUCO_MPI_SEND_INIT(Bsend_init, SendMode::Buffered)

CUCO_HOST_EXPORT int MPI_Recv(void* data,
                              int count,
                              MPI_Datatype type,
                              int peer,
                              int tag,
                              MPI_Comm comm,
                              MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Recv(data, count, type, peer, tag, comm, status);
  return complete(*api, start_receive(*api, {data, count, type, peer, tag, comm}), status);
}

CUCO_HOST_EXPORT int MPI_Irecv(void* data,
                               int count,
                               MPI_Datatype type,
                               int peer,
                               int tag,
                               MPI_Comm comm,
                               MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Irecv(data, count, type, peer, tag, comm, request);
  *request = new_request(start_receive(*api, {data, count, type, peer, tag, comm}));
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Recv_init(void* data,
                                   int count,
                                   MPI_Datatype type,
                                   int peer,
                                   int tag,
                                   MPI_Comm comm,
                                   MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr) return PMPI_Recv_init(data, count, type, peer, tag, comm, request);
  const ReceiveArguments receive{data, count, type, peer, tag, comm};
  *request = new_persistent_request([api, receive] { return start_receive(*api, receive); });
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Start(MPI_Request* request) {
  return start_request(*request) ? MPI_SUCCESS : PMPI_Start(request);
}

CUCO_HOST_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int result = MPI_Start(&requests[i]);
    if (result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
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
  const auto* api = server();
  if (api == nullptr) {
    return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                         comm, status);
  }
  const Operation receive = start_receive(*api, {in, in_count, in_type, from, in_tag, comm});
  const Operation send =
      start_send(*api, {out, out_count, out_type, to, out_tag, comm, SendMode::Standard});
  const int sent = complete(*api, send, MPI_STATUS_IGNORE);
  const int received = complete(*api, receive, status);
  return sent != MPI_SUCCESS ? sent : received;
}

// NOLINTNEXTLINE(readability-function-size): MPI's signature.
CUCO_HOST_EXPORT int MPI_Sendrecv_replace(void* data,
                                          int count,
                                          MPI_Datatype type,
                                          int to,
                                          int out_tag,
                                          int from,
                                          int in_tag,
                                          MPI_Comm comm,
                                          MPI_Status* status) {
  // A message is packed when it is sent: the buffer may be written right after.
  if (server() == nullptr) {
    return PMPI_Sendrecv_replace(data, count, type, to, out_tag, from, in_tag, comm, status);
  }
  return MPI_Sendrecv(data, count, type, to, out_tag, data, count, type, from, in_tag, comm,
                      status);
}

// ---- probes ----

CUCO_HOST_EXPORT int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || peer == MPI_PROC_NULL) return PMPI_Probe(peer, tag, comm, status);
  const auto seen = probe(*api, {peer, tag, comm, true, false});
  fill_status(status, seen.source, seen.tag, seen.bytes);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || peer == MPI_PROC_NULL) return PMPI_Iprobe(peer, tag, comm, flag, status);
  const auto seen = probe(*api, {peer, tag, comm, false, false});
  *flag = static_cast<int>(seen.found);
  if (*flag != 0) fill_status(status, seen.source, seen.tag, seen.bytes);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Mprobe(
    int peer, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || peer == MPI_PROC_NULL) return PMPI_Mprobe(peer, tag, comm, message, status);
  const auto seen = probe(*api, {peer, tag, comm, true, true});
  *message = handle_of(std::make_unique<Taken>(Taken{seen.number, comm}));
  fill_status(status, seen.source, seen.tag, seen.bytes);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Improbe(
    int peer, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || peer == MPI_PROC_NULL) {
    return PMPI_Improbe(peer, tag, comm, flag, message, status);
  }
  const auto seen = probe(*api, {peer, tag, comm, false, true});
  *flag = static_cast<int>(seen.found);
  if (*flag == 0) return MPI_SUCCESS;
  *message = handle_of(std::make_unique<Taken>(Taken{seen.number, comm}));
  fill_status(status, seen.source, seen.tag, seen.bytes);
  return MPI_SUCCESS;
}

CUCO_HOST_EXPORT int MPI_Mrecv(
    void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const auto* api = server();
  if (api == nullptr || *message == MPI_MESSAGE_NO_PROC) {
    return PMPI_Mrecv(data, count, type, message, status);
  }
  const auto taken = taken_of(message);
  return take(*api, taken->number, {data, count, type, 0, 0, taken->comm}, status);
}

CUCO_HOST_EXPORT int MPI_Imrecv(
    void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  const auto* api = server();
  if (api == nullptr || *message == MPI_MESSAGE_NO_PROC) {
    return PMPI_Imrecv(data, count, type, message, request);
  }
  const auto taken = taken_of(message);
  const ReceiveArguments receive{data, count, type, 0, 0, taken->comm};
  *request = new_request({0, [api, number = taken->number, receive](MPI_Status* status) {
                            return take(*api, number, receive, status);
                          }});
  return MPI_SUCCESS;
}
