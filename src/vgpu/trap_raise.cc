// SPDX-License-Identifier: Apache-2.0
// Where a trap gets its names: kernel, function, source line, block, thread.
#include <cstring>
#include <string>
#include <utility>

#include "vgpu/grid.h"

namespace cuco::vgpu {

void Warp::raise(const Op& op, TrapKind kind, unsigned lane, std::string message, Address address) {
  stop = nullptr;
  if (grid->trap) return;
  Trap trap;
  trap.kind = kind;
  trap.message = std::move(message);
  trap.kernel = kernel->info.name;
  trap.address = address;
  const Origin& origin = kernel->origins[op.source];
  if (origin.function->name != trap.kernel) trap.function = origin.function->name;
  trap.ptx_line = origin.instruction->ptx_line;
  trap.source_line = origin.instruction->source.line;
  const auto& files = kernel->module->files;
  if (trap.source_line != 0 && origin.instruction->source.file < files.size()) {
    trap.source_file = files[origin.instruction->source.file];
  }
  trap.block = block->index;
  const std::uint32_t* tid =
      reinterpret_cast<const std::uint32_t*>(grid->thread_indices.data()) + index * 3 * kLanes;
  trap.thread = {tid[lane], tid[kLanes + lane], tid[2 * kLanes + lane]};
  grid->trap = std::move(trap);
}

}  // namespace cuco::vgpu
