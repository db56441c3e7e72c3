// SPDX-License-Identifier: Apache-2.0
// Collectives, sends, receives, reductions and groups: the enqueueing half of nccl.h.
#include <cstring>
#include <string>

#include "loopback/nccl/pending_calls.h"
#include "nccl_core/collective.h"

namespace cuco::loopback {
namespace {

using nccl_core::DataType;
using nccl_core::Kind;
using nccl_core::ReduceOp;

/// The arguments that all of these calls share.
struct Arguments {
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  int type = 0;
  int op = 0;
  int root = 0;
};

int enqueue(Kind kind, const Arguments& arguments, ncclComm* comm, void* stream) {
  const std::string name(nccl_core::name_of(kind));
  if (comm == nullptr)
    return static_cast<int>(fail(nullptr, {Code::InvalidArgument, name + ": comm is NULL"}));
  if (poll(*comm) == Code::InProgress || comm->clique == nullptr) {
    return static_cast<int>(fail(
        comm, {Code::InvalidArgument, name + ": the communicator is still being made: wait until "
                                             "ncclCommGetAsyncError says ncclSuccess"}));
  }
  Operation operation;
  operation.comm = comm;
  operation.stream = static_cast<CUstream>(stream);
  nccl_core::Call& call = operation.call;
  call.kind = kind;
  call.type = static_cast<DataType>(arguments.type);
  call.op = static_cast<ReduceOp>(arguments.op);
  call.root = arguments.root;
  call.count = arguments.count;
  call.send = reinterpret_cast<std::uint64_t>(arguments.send);
  call.recv = reinterpret_cast<std::uint64_t>(arguments.recv);
  if (nccl_core::is_reducing(kind) && arguments.op >= nccl_core::kBuiltInOps) {
    const auto index = static_cast<std::size_t>(arguments.op - nccl_core::kBuiltInOps);
    if (index >= comm->user_ops.size() || !comm->user_ops[index].is_live ||
        comm->user_ops[index].type != call.type) {
      return static_cast<int>(fail(
          comm,
          {Code::InvalidArgument, name + ": reduction operation " + std::to_string(arguments.op) +
                                      " was not made for this communicator and data type"}));
    }
    call.op = ReduceOp::PreMulSum;
    std::memcpy(call.scalar.data(), &comm->user_ops[index].scalar, call.scalar.size());
    operation.scalar_address = comm->user_ops[index].scalar_address;
  }
  if (const nccl_core::Check wrong = nccl_core::check_arguments(call, comm->ranks))
    return static_cast<int>(fail(comm, *wrong));
  return static_cast<int>(submit(operation));
}

}  // namespace
}  // namespace cuco::loopback

using cuco::loopback::enqueue;
using cuco::nccl_core::Code;
using cuco::nccl_core::Kind;

CUCO_LOOPBACK_NCCL(
    int,
    ncclAllReduce,
    (const void* send, void* recv, size_t count, int type, int op, ncclComm* comm, void* stream)) {
  return enqueue(Kind::AllReduce, {send, recv, count, type, op, 0}, comm, stream);
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature.
CUCO_LOOPBACK_NCCL(int,
                   ncclReduce,
                   (const void* send,
                    void* recv,
                    size_t count,
                    int type,
                    int op,
                    int root,
                    ncclComm* comm,
                    void* stream)) {
  return enqueue(Kind::Reduce, {send, recv, count, type, op, root}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclBroadcast,
                   (const void* send,
                    void* recv,
                    size_t count,
                    int type,
                    int root,
                    ncclComm* comm,
                    void* stream)) {
  return enqueue(Kind::Broadcast, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclBcast,
                   (void* buffer, size_t count, int type, int root, ncclComm* comm, void* stream)) {
  return enqueue(Kind::Broadcast, {buffer, buffer, count, type, 0, root}, comm, stream);
}

CUCO_LOOPBACK_NCCL(
    int,
    ncclAllGather,
    (const void* send, void* recv, size_t count, int type, ncclComm* comm, void* stream)) {
  return enqueue(Kind::AllGather, {send, recv, count, type, 0, 0}, comm, stream);
}

CUCO_LOOPBACK_NCCL(
    int,
    ncclReduceScatter,
    (const void* send, void* recv, size_t count, int type, int op, ncclComm* comm, void* stream)) {
  return enqueue(Kind::ReduceScatter, {send, recv, count, type, op, 0}, comm, stream);
}

CUCO_LOOPBACK_NCCL(
    int,
    ncclAlltoAll,
    (const void* send, void* recv, size_t count, int type, ncclComm* comm, void* stream)) {
  return enqueue(Kind::AllToAll, {send, recv, count, type, 0, 0}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclGather,
                   (const void* send,
                    void* recv,
                    size_t count,
                    int type,
                    int root,
                    ncclComm* comm,
                    void* stream)) {
  return enqueue(Kind::Gather, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclScatter,
                   (const void* send,
                    void* recv,
                    size_t count,
                    int type,
                    int root,
                    ncclComm* comm,
                    void* stream)) {
  return enqueue(Kind::Scatter, {send, recv, count, type, 0, root}, comm, stream);
}

CUCO_LOOPBACK_NCCL(
    int,
    ncclSend,
    (const void* send, size_t count, int type, int peer, ncclComm* comm, void* stream)) {
  return enqueue(Kind::Send, {send, nullptr, count, type, 0, peer}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclRecv,
                   (void* recv, size_t count, int type, int peer, ncclComm* comm, void* stream)) {
  return enqueue(Kind::Recv, {nullptr, recv, count, type, 0, peer}, comm, stream);
}

CUCO_LOOPBACK_NCCL(int,
                   ncclRedOpCreatePreMulSum,
                   (int* op, void* scalar, int type, int residence, ncclComm* comm)) {
  const auto data_type = static_cast<cuco::nccl_core::DataType>(type);
  if (op == nullptr || scalar == nullptr || comm == nullptr ||
      !cuco::nccl_core::is_valid(data_type) || residence < 0 || residence > 1) {
    return static_cast<int>(cuco::loopback::fail(
        comm, {Code::InvalidArgument, "ncclRedOpCreatePreMulSum: invalid argument"}));
  }
  cuco::loopback::UserOp user;
  user.is_live = true;
  user.type = data_type;
  if (residence == 1) {
    std::memcpy(&user.scalar, scalar, cuco::nccl_core::size_of(data_type));
  } else {
    user.scalar_address = reinterpret_cast<std::uint64_t>(scalar);
  }
  *op = cuco::nccl_core::kBuiltInOps + static_cast<int>(comm->user_ops.size());
  comm->user_ops.push_back(user);
  return 0;
}

CUCO_LOOPBACK_NCCL(int, ncclRedOpDestroy, (int op, ncclComm* comm)) {
  const auto index = static_cast<std::size_t>(op - cuco::nccl_core::kBuiltInOps);
  if (comm == nullptr || op < cuco::nccl_core::kBuiltInOps || index >= comm->user_ops.size() ||
      !comm->user_ops[index].is_live) {
    return static_cast<int>(cuco::loopback::fail(
        comm, {Code::InvalidArgument, "ncclRedOpDestroy: not a reduction of this communicator"}));
  }
  comm->user_ops[index].is_live = false;
  return 0;
}

CUCO_LOOPBACK_NCCL(int, ncclGroupStart, ()) {
  return static_cast<int>(cuco::loopback::group_start());
}

CUCO_LOOPBACK_NCCL(int, ncclGroupEnd, ()) {
  return static_cast<int>(cuco::loopback::group_end());
}

CUCO_LOOPBACK_NCCL(int, ncclGroupSimulateEnd, (void*)) {
  return static_cast<int>(cuco::loopback::group_forget());
}
