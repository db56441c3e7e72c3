// SPDX-License-Identifier: Apache-2.0
// Who waits for what, in words: the text of a dead-lock report.
#include <string>

#include <fmt/format.h>

#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/gpu/spin.h"

namespace cuco::vgpu {

namespace {

std::string place_of(const Warp& w, const Split& split) {
  // A barrier continues behind itself; a spin re-executes its read.
  const bool behind = split.state == Split::State::Barrier || split.state == Split::State::Asleep;
  const std::uint32_t index = split.op - (behind && split.op > 0 ? 1 : 0);
  const Origin& origin = w.kernel->origins[w.kernel->ops[index].source];
  const auto& source = origin.instruction->source;
  const auto& files = w.kernel->module->files;
  if (source.line != 0 && source.file < files.size()) {
    return fmt::format("{}:{}", files[source.file], source.line);
  }
  return fmt::format("PTX line {}", origin.instruction->ptx_line);
}

std::string reason_of(const Warp& w, const Split& split) {
  switch (split.state) {
    case Split::State::Barrier: {
      const Barrier& barrier = w.block->barriers[split.barrier];
      return fmt::format("waits at barrier {}: {} of {} threads are there", split.barrier,
                         barrier.arrived,
                         barrier.expected != 0 ? barrier.expected : w.block->live_threads);
    }
    case Split::State::Sync:
      return "waits for the other lanes of its member mask";
    case Split::State::Asleep:
      return "sleeps";
    case Split::State::Runnable:
      return "can run";
    case Split::State::Parked:
      break;
  }
  if (split.spin == nullptr || split.spin->locations.empty()) {
    return "runs in a circle, and nothing that it reads changes";
  }
  std::string text = "waits for a write to";
  std::size_t shown = 0;
  for (const SpinLog::Location& location : split.spin->locations) {
    if (++shown > 4) return text + " ...";
    text += location.shared ? fmt::format(" shared+{:#x}", location.address)
                            : fmt::format(" {:#x}", location.address);
  }
  return text;
}

}  // namespace

std::vector<std::string> Gpu::describe_waits() const {
  std::vector<std::string> out;
  for (const auto& grid : impl_->grids) {
    for (const auto& block : grid->blocks) {
      for (const auto& w : block->warps) {
        for (const Split& split : w->splits) {
          if (w->alive == 0) continue;
          const auto& b = block->index;
          out.push_back(fmt::format("kernel {} block ({},{},{}) warp {} lanes {:#010x} at {}: {}",
                                    grid->kernel->info.name, b[0], b[1], b[2], w->index, split.mask,
                                    place_of(*w, split), reason_of(*w, split)));
        }
      }
    }
    if (grid->next_block < grid->block_count) {
      out.push_back(fmt::format("kernel {}: {} blocks wait for a free SM", grid->kernel->info.name,
                                grid->block_count - grid->next_block));
    }
  }
  return out;
}

}  // namespace cuco::vgpu
