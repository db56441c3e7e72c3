// SPDX-License-Identifier: Apache-2.0
#include "vgpu/gpu/trap.h"

#include <fmt/format.h>

namespace cuco::vgpu {

const char* describe(TrapKind kind) {
  switch (kind) {
    case TrapKind::IllegalAddress:
      return "illegal address";
    case TrapKind::Misaligned:
      return "misaligned address";
    case TrapKind::IllegalInstruction:
      return "illegal instruction";
    case TrapKind::Unsupported:
      return "unsupported instruction";
    case TrapKind::Assert:
      return "assertion failed";
    case TrapKind::Trap:
      return "trap";
    case TrapKind::StackOverflow:
      return "stack overflow";
    case TrapKind::Budget:
      return "instruction budget spent";
    case TrapKind::Cancelled:
      return "cancelled";
  }
  return "trap";
}

std::string to_string(const Trap& trap) {
  std::string where = trap.source_line != 0
                          ? fmt::format("{}:{}", trap.source_file, trap.source_line)
                          : fmt::format("PTX line {}", trap.ptx_line);
  if (!trap.function.empty()) where += fmt::format(" ({})", trap.function);
  return fmt::format("{}: {} in kernel {} at {}, block ({},{},{}) thread ({},{},{})",
                     describe(trap.kind), trap.message, trap.kernel, where, trap.block[0],
                     trap.block[1], trap.block[2], trap.thread[0], trap.thread[1], trap.thread[2]);
}

}  // namespace cuco::vgpu
