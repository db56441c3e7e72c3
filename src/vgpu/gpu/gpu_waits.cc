// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>

#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/gpu/wait.h"

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

WaitReason reason_of(const Warp& w, const Split& split) {
  switch (split.state) {
    case Split::State::Barrier: {
      const Barrier& barrier = w.block->barriers[split.barrier];
      return BarrierWait{
          .barrier = split.barrier,
          .arrived = barrier.arrived,
          .expected = barrier.expected != 0 ? barrier.expected : w.block->live_threads};
    }
    case Split::State::Sync:
      return LanesWait{};
    case Split::State::Asleep:
      return SleepWait{};
    case Split::State::Runnable:
      return NoWait{};
    case Split::State::Parked:
      break;
  }
  if (split.spin == nullptr || split.spin->locations.empty()) return LoopWait{};
  WriteWait wait;
  for (const SpinLog::Location& location : split.spin->locations) {
    wait.locations.push_back({location.address, location.shared});
  }
  return wait;
}

struct Words {
  std::string operator()(const NoWait&) const { return "can run"; }
  std::string operator()(const BarrierWait& at) const {
    return fmt::format("waits at barrier {}: {} of {} threads are there", at.barrier, at.arrived,
                       at.expected);
  }
  std::string operator()(const LanesWait&) const {
    return "waits for the other lanes of its member mask";
  }
  std::string operator()(const SleepWait&) const { return "sleeps"; }
  std::string operator()(const LoopWait&) const {
    return "runs in a loop, and nothing that it reads changes";
  }
  std::string operator()(const WriteWait& wait) const {
    constexpr std::size_t kEnough = 4;
    std::string text = "waits for a write to";
    std::size_t shown = 0;
    for (const WriteWait::Location& location : wait.locations) {
      if (++shown > kEnough) return text + " ...";
      text += fmt::format(" {}{:#x}", location.shared ? "shared+" : "", location.address);
    }
    return text;
  }

  std::string operator()(const WarpWait& wait) const {
    return fmt::format("kernel {} block ({},{},{}) warp {} lanes {:#010x} at {}: {}", wait.kernel,
                       wait.block[0], wait.block[1], wait.block[2], wait.warp, wait.lanes,
                       wait.place, std::visit(*this, wait.reason));
  }
  std::string operator()(const QueuedBlocks& wait) const {
    return fmt::format("kernel {}: {} blocks wait for a free SM", wait.kernel, wait.blocks);
  }
};

}  // namespace

std::string describe(const Wait& wait) {
  return std::visit(Words{}, wait);
}

// Shared memory is the block's own: nobody outside can be the one to write it.
std::vector<Address> awaited_addresses(const Wait& wait) {
  std::vector<Address> addresses;
  const auto* warp = std::get_if<WarpWait>(&wait);
  const auto* write = warp != nullptr ? std::get_if<WriteWait>(&warp->reason) : nullptr;
  if (write == nullptr) return addresses;
  for (const WriteWait::Location& location : write->locations) {
    if (!location.shared) addresses.push_back(location.address);
  }
  return addresses;
}

std::vector<Wait> Gpu::waits() const {
  std::vector<Wait> out;
  for (const auto& grid : impl_->grids) {
    const std::string& kernel = grid->kernel->info.name;
    for (const auto& block : grid->blocks) {
      for (const auto& w : block->warps) {
        if (w->alive == 0) continue;
        for (const Split& split : w->splits) {
          out.emplace_back(WarpWait{.kernel = kernel,
                                    .block = block->index,
                                    .warp = w->index,
                                    .lanes = split.mask,
                                    .place = place_of(*w, split),
                                    .reason = reason_of(*w, split)});
        }
      }
    }
    if (grid->next_block < grid->block_count) {
      out.emplace_back(QueuedBlocks{kernel, grid->block_count - grid->next_block});
    }
  }
  return out;
}

}  // namespace cuco::vgpu
