// SPDX-License-Identifier: Apache-2.0
// Collectives, sends, receives, reductions and groups: the enqueueing half of nccl.h.
#include <cstring>
#include <string>

#include "loopback/gpu/pages.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/pending_calls.h"
#include "nccl_core/collective.h"
#include "nccl_core/collective_exports.h"

namespace cuco {

using loopback::fail;
using loopback::Operation;
using loopback::poll;

namespace nccl_core {
namespace {

/// The other ranks read and write these buffers themselves.
Check check_reach(const Call& call, const ncclComm& comm) {
  if (loopback::settings().role == loopback::Role::Alone) return std::nullopt;
  for (const Range& range :
       {read_range(call, comm.rank, comm.ranks), write_range(call, comm.rank, comm.ranks)}) {
    if (range.bytes == 0 || loopback::Pages::is_shared(range.address)) continue;
    return Problem{Code::InvalidArgument,
                   std::string(name_of(call.kind)) +
                       ": the other ranks are processes and cannot reach this buffer: take memory "
                       "of cudaMalloc or ncclMemAlloc"};
  }
  return std::nullopt;
}

}  // namespace
}  // namespace nccl_core

int nccl_core::submit(Kind kind,
                      const CollectiveArguments& arguments,
                      ncclComm* comm,
                      void* stream) {
  const std::string name(name_of(kind));
  if (comm == nullptr)
    return static_cast<int>(fail(nullptr, {Code::InvalidArgument, name + ": comm is NULL"}));
  if (poll(*comm) == Code::InProgress || comm->place.number == 0) {
    return static_cast<int>(fail(
        comm, {Code::InvalidArgument, name + ": the communicator is still being made: wait until "
                                             "ncclCommGetAsyncError says ncclSuccess"}));
  }
  Operation operation;
  operation.comm = comm;
  operation.stream = static_cast<CUstream>(stream);
  Call& call = operation.call;
  call.kind = kind;
  call.type = static_cast<DataType>(arguments.type);
  call.op = static_cast<ReduceOp>(arguments.op);
  call.root = arguments.root;
  call.count = arguments.count;
  call.send = reinterpret_cast<std::uint64_t>(arguments.send);
  call.recv = reinterpret_cast<std::uint64_t>(arguments.recv);
  if (is_reducing(kind) && arguments.op >= kBuiltInOps) {
    const auto index = static_cast<std::size_t>(arguments.op - kBuiltInOps);
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
  if (const Check wrong = check_arguments(call, comm->ranks))
    return static_cast<int>(fail(comm, *wrong));
  if (const Check wrong = check_reach(call, *comm)) return static_cast<int>(fail(comm, *wrong));
  return static_cast<int>(loopback::submit(operation));
}

}  // namespace cuco

using cuco::nccl_core::Code;

CUCO_NCCL_EXPORT(int,
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

CUCO_NCCL_EXPORT(int, ncclRedOpDestroy, (int op, ncclComm* comm)) {
  const auto index = static_cast<std::size_t>(op - cuco::nccl_core::kBuiltInOps);
  if (comm == nullptr || op < cuco::nccl_core::kBuiltInOps || index >= comm->user_ops.size() ||
      !comm->user_ops[index].is_live) {
    return static_cast<int>(cuco::loopback::fail(
        comm, {Code::InvalidArgument, "ncclRedOpDestroy: not a reduction of this communicator"}));
  }
  comm->user_ops[index].is_live = false;
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclGroupStart, ()) {
  return static_cast<int>(cuco::loopback::group_start());
}

CUCO_NCCL_EXPORT(int, ncclGroupEnd, ()) {
  return static_cast<int>(cuco::loopback::group_end());
}

CUCO_NCCL_EXPORT(int, ncclGroupSimulateEnd, (void*)) {
  return static_cast<int>(cuco::loopback::group_forget());
}
