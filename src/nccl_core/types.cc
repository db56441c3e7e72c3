// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/types.h"

#include <array>

namespace cuco::nccl_core {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<TypeRow, kDataTypes> kTypes = {{{"ncclInt8", 1},
                                                     {"ncclUint8", 1},
                                                     {"ncclInt32", 4},
                                                     {"ncclUint32", 4},
                                                     {"ncclInt64", 8},
                                                     {"ncclUint64", 8},
                                                     {"ncclFloat16", 2},
                                                     {"ncclFloat32", 4},
                                                     {"ncclFloat64", 8},
                                                     {"ncclBfloat16", 2},
                                                     {"ncclFloat8e4m3", 1},
                                                     {"ncclFloat8e5m2", 1}}};

constexpr std::array<std::string_view, kBuiltInOps + 1> kOps = {
    "ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg", "pre-multiplied sum"};

}  // namespace

std::size_t size_of(DataType type) {
  return is_valid(type) ? kTypes[static_cast<std::size_t>(type)].bytes : 0;
}

std::string_view name_of(DataType type) {
  return is_valid(type) ? kTypes[static_cast<std::size_t>(type)].name : "an unknown type";
}

std::string_view name_of(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kOps.size() ? kOps[index] : "an unknown operation";
}

const char* error_string(Code code) {
  switch (code) {
    case Code::Success:
      return "no error";
    case Code::UnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case Code::SystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case Code::InternalError:
      return "internal error - please report this issue to the NCCL developers";
    case Code::InvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case Code::InvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case Code::RemoteError:
      return "remote process exited or there was a network error";
    case Code::InProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

}  // namespace cuco::nccl_core
