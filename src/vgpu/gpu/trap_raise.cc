// SPDX-License-Identifier: Apache-2.0
// Where a trap gets its names: kernel, function, source line, block, thread.
#include <cstring>
#include <string>
#include <utility>

#include "ptx/toolkit_source.h"
#include "vgpu/gpu/grid.h"

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
  const auto& files = kernel->module->files;
  const auto file_of = [&](const ptx::SourceLine& line) {
    return line.line != 0 && line.file < files.size() ? files[line.file] : std::string();
  };
  // Of what was inlined from the toolkit's headers the line that called it says more.
  const ptx::Instruction& in = *origin.instruction;
  const bool is_inlined = in.caller.line != 0 && ptx::is_of_toolkit(file_of(in.source));
  const ptx::SourceLine& line = is_inlined ? in.caller : in.source;
  trap.source_line = line.line;
  trap.source_file = file_of(line);
  trap.block = block->index;
  const std::uint32_t* tid =
      reinterpret_cast<const std::uint32_t*>(grid->thread_indices.data()) + index * 3 * kLanes;
  trap.thread = {tid[lane], tid[kLanes + lane], tid[2 * kLanes + lane]};
  grid->trap = std::move(trap);
}

}  // namespace cuco::vgpu
