// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stops a kernel. A trap is data: it becomes CUDA's sticky error and a line in a report.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "vgpu/memory/address_map.h"

namespace cuco::vgpu {

enum class TrapKind : std::uint8_t {
  IllegalAddress,      ///< Outside of every mapping, or a peer without access.
  Misaligned,          ///< Address not a multiple of the access width.
  IllegalInstruction,  ///< Undefined use: wrong membermask, bad barrier id, bad call target.
  Unsupported,         ///< An opcode that the virtual GPU does not execute.
  Assert,              ///< __assertfail
  Trap,                ///< trap, brkpt
  StackOverflow,       ///< Call depth or local memory.
  Budget,              ///< The launch's instruction budget is spent.
  Cancelled,
};

/// Names the kind as a phrase: "illegal address".
[[nodiscard]] const char* describe(TrapKind kind);

struct Trap {
  TrapKind kind = TrapKind::Trap;
  std::string message;  ///< What happened: "ld.global.u32 of 4 bytes at 0x0".
  std::string kernel;
  std::string function;  ///< The device function, if not the kernel itself.
  std::string source_file;
  std::uint32_t source_line = 0;  ///< 0: compiled without -lineinfo.
  std::uint32_t ptx_line = 0;
  std::array<std::uint32_t, 3> block{};
  std::array<std::uint32_t, 3> thread{};
  Address address = 0;
};

/// One line: "illegal address: … in kernel k at file.cu:12, block (0,0,0) thread (3,0,0)".
[[nodiscard]] std::string to_string(const Trap& trap);

}  // namespace cuco::vgpu
