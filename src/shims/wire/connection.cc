// SPDX-License-Identifier: Apache-2.0
#include "shims/wire/connection.h"

#include <utility>

#include "shims/wire/call_site.h"

namespace cuco::wire {

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path,
                                                     const Hello& hello,
                                                     const std::string& program) {
  CUCO_TRY_ASSIGN(Fd socket, connect_to(path));
  std::unique_ptr<Connection> connection(new Connection(std::move(socket)));
  const CallRequest request{.type = Hello::kType,
                            .one_way = false,
                            .fd = -1,
                            .head = &hello,
                            .head_bytes = sizeof hello,
                            .tail = program.data(),
                            .tail_bytes = program.size()};
  CallReply reply;
  if (!connection->call(request, &reply) || reply.status != kSuccess) {
    return Error{ErrorKind::Protocol, "the virtual cluster refused the connection"};
  }
  const auto identity = read_front<Hello::Reply>(Bytes(reply.payload, reply.bytes));
  if (!identity) return Error{ErrorKind::Protocol, "the virtual cluster sent a short greeting"};
  connection->identity_ = *identity;
  connection->host_memory_ = std::move(connection->last_.fd);
  return connection;
}

bool Connection::call(const CallRequest& request, CallReply* reply) {
  Header header;
  header.type = request.type;
  pack(current_call_site(), header);
  const Bytes head(static_cast<const std::byte*>(request.head), request.head_bytes);
  const Bytes tail(static_cast<const std::byte*>(request.tail), request.tail_bytes);
  if (!send_frame(socket_.get(), header, head, tail, request.fd)) return false;
  if (request.one_way) return true;
  auto frame = receive_frame(socket_.get());
  if (!frame || frame->header.type != request.type) return false;
  last_ = std::move(*frame);
  clock_ = last_.header.clock;
  if (reply != nullptr) {
    *reply = {.status = last_.header.status,
              .clock = clock_,
              .payload = last_.payload.data(),
              .bytes = last_.payload.size(),
              .fd = last_.fd.get()};
  }
  return true;
}

}  // namespace cuco::wire
