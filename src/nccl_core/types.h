// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL's vocabulary as our own types: result codes, data types, reductions. The numbers are those
/// of nccl.h, which never change between versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuco::nccl_core {

enum class Code : std::int32_t {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};

enum class DataType : std::int32_t {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Uint32 = 3,
  Int64 = 4,
  Uint64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9,
  Float8e4m3 = 10,
  Float8e5m2 = 11,
};
inline constexpr int kDataTypes = 12;

enum class ReduceOp : std::int32_t {
  Sum = 0,
  Prod = 1,
  Max = 2,
  Min = 3,
  Avg = 4,
  PreMulSum = 5,  ///< Made at run time; NCCL hands out numbers from 5 on.
};
inline constexpr int kBuiltInOps = 5;

/// A failed call: NCCL's code, and a sentence that says what a person should change.
struct Problem {
  Code code = Code::Success;
  std::string message;
};
/// Nothing, or what was wrong.
using Check = std::optional<Problem>;

[[nodiscard]] constexpr bool is_valid(DataType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < kDataTypes;
}

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(DataType type);
[[nodiscard]] std::string_view name_of(DataType type);
[[nodiscard]] std::string_view name_of(ReduceOp op);
/// The text that ncclGetErrorString returns.
[[nodiscard]] const char* error_string(Code code);

}  // namespace cuco::nccl_core
