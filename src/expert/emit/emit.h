// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collectives as code that GPUs run: the text to put into a program, and what must hold there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expert/emit/preconditions.h"
#include "expert/emit/request.h"

namespace cuco::expert::emit {

/// Text for one buffer that becomes symmetric memory.
struct SharedBuffer {
  std::string pointer;  ///< The program's expression for its beginning.
  std::string member;   ///< A variable of this declaration beside the site.
  std::string
      allocate;  ///< In the place of cudaMalloc(&pointer, BYTES); an ncclResult_t. Holds {bytes}.
  std::string release;  ///< In the place of cudaFree(pointer), behind teardown; an ncclResult_t.
};

/// Calls of a group of sends and receives are replaced one by one: the program's own loops and
/// conditions stay. {data}, {count} and {peer} stand for the arguments.
struct GroupCalls {
  std::string member;   ///< Beside the site.
  std::string send;     ///< In the place of ncclSend(); an ncclResult_t.
  std::string receive;  ///< In the place of ncclRecv().
};

/// Pieces of a program. Expressions have the type ncclResult_t, so that they fit where the
/// program checks what NCCL returned.
struct Emitted {
  std::string include;   ///< The line that includes device_header().
  std::string code;      ///< At file scope, behind the include: kernel and launching function.
  std::string member;    ///< A declaration: what the site owns.
  std::string setup;     ///< An expression; once, when the communicator exists.
  std::string call;      ///< An expression, in the place of the collective (a group: of its end).
  std::string teardown;  ///< An expression; once, before the communicator and the buffers go.
  GroupCalls group;      ///< Collective::Exchange only.
  std::vector<SharedBuffer> buffers;  ///< Buffers::Windows only.
  std::vector<Precondition> preconditions;
};

/// The text of the header that emitted code includes, and its file name.
[[nodiscard]] std::string_view device_header();
inline constexpr std::string_view kDeviceHeaderName = "cuco_device.cuh";

/// Fails where there is no such code, with the reason.
[[nodiscard]] Result<Emitted> emit(const Request& request);

}  // namespace cuco::expert::emit
