// SPDX-License-Identifier: Apache-2.0
// Collectives, sends, receives, reductions and groups: the enqueueing half of nccl.h.
#include <cstring>
#include <string>

#include "nccl_core/collective.h"
#include "nccl_core/collective_exports.h"
#include "shims/nccl/group.h"

namespace cuco {

using nccl::enqueue;
using nccl::fail;
using nccl::payload_of;

int nccl_core::submit(Kind kind,
                      const CollectiveArguments& arguments,
                      ncclComm* comm,
                      void* stream) {
  const std::string name(name_of(kind));
  if (comm == nullptr) {
    return static_cast<int>(fail(nullptr, {Code::InvalidArgument, name + ": comm is NULL"}));
  }
  wire::NcclOperation operation;
  operation.comm = comm->handle;
  operation.stream = {reinterpret_cast<std::uint64_t>(stream), comm->cluster_device, 0};
  operation.count = arguments.count;
  operation.send = reinterpret_cast<std::uint64_t>(arguments.send);
  operation.recv = reinterpret_cast<std::uint64_t>(arguments.recv);
  operation.kind = static_cast<std::uint32_t>(kind);
  operation.type = arguments.type;
  operation.op = arguments.op;
  operation.root = arguments.root;
  if (is_reducing(kind) && arguments.op >= kBuiltInOps) {
    const auto index = static_cast<std::size_t>(arguments.op - kBuiltInOps);
    if (index >= comm->user_ops.size() || !comm->user_ops[index].is_live) {
      return static_cast<int>(fail(
          comm,
          {Code::InvalidArgument, name + ": reduction operation " + std::to_string(arguments.op) +
                                      " was not made for this communicator"}));
    }
    const CucoUserOp& user = comm->user_ops[index];
    if (user.type != static_cast<DataType>(arguments.type)) {
      return static_cast<int>(
          fail(comm, {Code::InvalidArgument,
                      name + ": data type differs from the one the reduction was made for"}));
    }
    operation.op = static_cast<std::int32_t>(ReduceOp::PreMulSum);
    std::memcpy(operation.scalar, user.scalar.data(), sizeof operation.scalar);
    operation.scalar_address = user.scalar_address;
  }
  // The group may be sent after comm's last error has been asked for: keep it simple, no callback.
  return static_cast<int>(
      enqueue({wire::NcclItemKind::Operation, payload_of(operation), comm, nullptr, nullptr}));
}

}  // namespace cuco

using cuco::nccl_core::Code;

CUCO_NCCL_EXPORT(int,
                 ncclRedOpCreatePreMulSum,
                 (int* op, void* scalar, int type, int residence, ncclComm* comm)) {
  const auto data_type = static_cast<cuco::nccl_core::DataType>(type);
  if (op == nullptr || scalar == nullptr || comm == nullptr ||
      !cuco::nccl_core::is_valid(data_type) || residence < 0 || residence > 1) {
    return static_cast<int>(cuco::nccl::fail(
        comm, {Code::InvalidArgument, "ncclRedOpCreatePreMulSum: invalid argument"}));
  }
  CucoUserOp user;
  user.is_live = true;
  user.type = data_type;
  if (residence == 1) {
    std::memcpy(user.scalar.data(), scalar, cuco::nccl_core::size_of(data_type));
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
    return static_cast<int>(cuco::nccl::fail(
        comm, {Code::InvalidArgument, "ncclRedOpDestroy: not a reduction of this communicator"}));
  }
  comm->user_ops[index].is_live = false;
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclGroupStart, ()) {
  return static_cast<int>(cuco::nccl::group_start());
}

CUCO_NCCL_EXPORT(int, ncclGroupEnd, ()) {
  return static_cast<int>(cuco::nccl::group_end());
}

namespace {

/// ncclSimInfo_t
struct SimInfo {
  std::size_t size;
  unsigned magic;
  unsigned version;
  float estimated_time;
};
constexpr unsigned kSimInfoMagic = 0x74685283;

}  // namespace

CUCO_NCCL_EXPORT(int, ncclGroupSimulateEnd, (SimInfo * info)) {
  if (info != nullptr && info->magic != kSimInfoMagic) {
    return static_cast<int>(cuco::nccl::fail(
        nullptr,
        {Code::InvalidArgument,
         "ncclGroupSimulateEnd: initialise ncclSimInfo_t with NCCL_SIM_INFO_INITIALIZER"}));
  }
  double seconds = 0;
  const Code code = cuco::nccl::group_simulate_end(&seconds);
  // NCCL's estimate is in microseconds.
  if (info != nullptr) info->estimated_time = static_cast<float>(seconds * 1e6);
  return static_cast<int>(code);
}
