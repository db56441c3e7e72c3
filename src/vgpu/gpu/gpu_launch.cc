// SPDX-License-Identifier: Apache-2.0
// What a launch needs: limits, occupancy, and the grid's data.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

Error refuse(std::string message) {
  return {ErrorKind::InvalidInput, std::move(message)};
}

/// %tid of every lane of every warp of a block.
AlignedBytes thread_indices(const Dim3& block, std::uint32_t warps) {
  AlignedBytes out(std::size_t{warps} * 3 * kLanes * sizeof(std::uint32_t));
  auto* words = reinterpret_cast<std::uint32_t*>(out.data());
  for (std::uint32_t t = 0; t < warps * kLanes; ++t) {
    std::uint32_t* lane = words + t / kLanes * 3 * kLanes + t % kLanes;
    lane[0] = t % block[0];
    lane[kLanes] = t / block[0] % block[1];
    lane[2 * kLanes] = t / block[0] / block[1];
  }
  return out;
}

}  // namespace

std::uint32_t Gpu::Impl::block_registers(const KernelInfo& kernel, std::uint32_t threads) const {
  // Registers are given to warps in units of 256.
  const std::uint32_t warps = (threads + kLanes - 1) / kLanes;
  // The number is an estimate, which must not refuse a block that ptxas would have made fit.
  const std::uint32_t most = description.registers_per_sm / std::max(warps, 1U) / 256 * 256;
  return std::min(round_up(std::max(kernel.registers, 16U) * kLanes, 256), most) * warps;
}

std::uint32_t Gpu::Impl::thread_registers(const KernelInfo& kernel, std::uint32_t threads) const {
  // ptxas goes by the launch bounds; without any, the block has to fit all the same.
  const std::uint32_t bound = std::max(kernel.bound_threads, threads);
  const std::uint32_t warps = (bound + kLanes - 1) / kLanes;
  return std::min(kernel.max_registers, description.registers_per_sm / (warps * kLanes) / 8 * 8);
}

std::uint32_t Gpu::Impl::block_shared(std::uint32_t shared_bytes) const {
  return round_up(shared_bytes + description.shared_reserved, 128);
}

std::uint32_t Gpu::Impl::blocks_per_sm(const KernelInfo& kernel,
                                       std::uint32_t threads,
                                       std::uint32_t dynamic_shared) const {
  const std::uint32_t warps = (threads + kLanes - 1) / kLanes;
  if (threads == 0 || threads > description.threads_per_block) return 0;
  const std::uint32_t shared = block_shared(kernel.static_shared + dynamic_shared);
  return std::min({description.blocks_per_sm, description.threads_per_sm / (warps * kLanes),
                   description.registers_per_sm / block_registers(kernel, threads),
                   description.shared_per_sm / shared});
}

Result<void> Gpu::Impl::check(const LaunchRequest& request, const KernelInfo& info) const {
  const auto& [gx, gy, gz] = request.grid;
  const auto& [bx, by, bz] = request.block;
  if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0) {
    return refuse("a grid or block dimension is 0");
  }
  if (gx > 0x7FFF'FFFFU || gy > 65535 || gz > 65535) return refuse("the grid is too large");
  if (bx > 1024 || by > 1024 || bz > 64 ||
      std::uint64_t{bx} * by * bz > std::min(description.threads_per_block, info.max_threads)) {
    return refuse(fmt::format("the block has {} threads, {} are allowed",
                              std::uint64_t{bx} * by * bz,
                              std::min(description.threads_per_block, info.max_threads)));
  }
  if (info.static_shared > description.shared_per_block) {
    return refuse(
        fmt::format("{} has {} bytes of static shared memory, {} are allowed: ptxas "
                    "refuses it; take dynamic shared memory",
                    info.name, info.static_shared, description.shared_per_block));
  }
  if (std::uint64_t{info.static_shared} + request.dynamic_shared >
      description.shared_per_block_optin) {
    return refuse(fmt::format("the block needs {} bytes of shared memory, {} are there",
                              std::uint64_t{info.static_shared} + request.dynamic_shared,
                              description.shared_per_block_optin));
  }
  if (request.arguments.size() < info.argument_bytes) {
    return refuse(fmt::format("{} argument bytes, the kernel takes {}", request.arguments.size(),
                              info.argument_bytes));
  }
  if (info.argument_bytes > kWorkspaceOffset) return refuse("too many argument bytes");
  const std::uint32_t resident = blocks_per_sm(info, bx * by * bz, request.dynamic_shared);
  if (resident == 0) return refuse("too many resources requested for launch");
  if (request.cooperative &&
      std::uint64_t{gx} * gy * gz > std::uint64_t{resident} * description.sms) {
    return refuse(fmt::format("a cooperative grid of {} blocks, {} fit at once",
                              std::uint64_t{gx} * gy * gz,
                              std::uint64_t{resident} * description.sms));
  }
  return {};
}

Result<Address> Gpu::Impl::take_slot() {
  if (free_slots.empty()) {
    CUCO_TRY_ASSIGN(const Address slot, memory.allocate(device, kLaunchSlotBytes, 256));
    all_slots.push_back(slot);
    free_slots.push_back(slot);
  }
  const Address slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

Result<std::unique_ptr<Grid>> Gpu::Impl::make_grid(LaunchRequest request, VTime start) {
  const Kernel& kernel = request.program->kernel(request.kernel);
  CUCO_TRY(check(request, kernel.info));
  auto grid = std::make_unique<Grid>();
  CUCO_TRY_ASSIGN(grid->parameters, take_slot());
  std::memset(Memory::at(grid->parameters + kWorkspaceOffset), 0,
              kLaunchSlotBytes - kWorkspaceOffset);
  if (kernel.info.argument_bytes > 0)
    std::memcpy(Memory::at(grid->parameters), request.arguments.data(), kernel.info.argument_bytes);
  const std::uint32_t threads = request.block[0] * request.block[1] * request.block[2];
  const std::uint32_t registers = thread_registers(kernel.info, threads);
  auto& table = costs[{&kernel, registers}];
  if (table == nullptr) {
    table = std::make_unique<CostTable>(make_cost_table(kernel, description, registers));
  }
  grid->id = next_grid++;
  grid->kernel = &kernel;
  grid->scheduler = this;
  grid->memory = &memory;
  grid->spare_frames = &spare_frames;
  grid->observer = environment.observer;
  grid->weak = environment.weak;
  if (grid->weak != nullptr) grid->weak->begin_grid(device, grid->id);
  grid->costs = table.get();
  grid->start = start + static_cast<VTime>(description.launch_us * kMicrosecond);
  if (environment.schedule.seed != 0 && environment.schedule.launch_delay > 0) {
    grid->start += static_cast<VTime>(
        adversary.below(static_cast<std::uint64_t>(environment.schedule.launch_delay)));
  }
  grid->finish = grid->start;
  grid->block_count = std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  grid->threads = request.block[0] * request.block[1] * request.block[2];
  grid->warps_per_block = (grid->threads + kLanes - 1) / kLanes;
  grid->shared_bytes = kernel.info.static_shared + request.dynamic_shared;
  grid->registers = block_registers(kernel.info, grid->threads);
  grid->device = static_cast<std::uint8_t>(device);
  grid->sms = description.sms;
  grid->peers = request.peers;
  grid->thread_indices = thread_indices(request.block, grid->warps_per_block);
  grid->counts.assign(kernel.ops.size() + 1, {});
  grid->constants = launch_constants(kernel, request);
  grid->request = std::move(request);
  return grid;
}

}  // namespace cuco::vgpu
