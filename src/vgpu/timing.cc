// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cuco::vgpu {

CacheTags::CacheTags(std::uint64_t bytes, unsigned ways)
    : sets_(std::bit_floor(std::max<std::uint64_t>(1, bytes / 128 / ways))),
      ways_(static_cast<unsigned>(std::max<std::uint64_t>(1, bytes / 128 / sets_))),
      shift_(static_cast<unsigned>(std::countr_zero(sets_))),
      tags_(sets_ * ways_, 0) {}

void CacheTags::clear() {
  std::fill(tags_.begin(), tags_.end(), 0);
}

std::uint32_t CacheTags::touch(std::uint64_t line, std::uint32_t sectors) {
  // Neighbouring lines go to neighbouring sets, which the host's cache likes; the upper bits are
  // hashed in, because power-of-two strides must not fall into few sets. 28 bits of a hash stand
  // for the line, which is wrong once in 2^28 lookups.
  const std::uint64_t hash = ((line >> shift_) + 1) * 0x9E37'79B9'7F4A'7C15ULL;
  std::uint32_t* set = tags_.data() + ((line ^ hash >> 40U) & (sets_ - 1)) * ways_;
  const std::uint32_t wanted = (static_cast<std::uint32_t>(hash >> 12U) | 0x10U) & ~0xFU;
  std::uint32_t carried = set[0];
  if ((carried & ~0xFU) == wanted) {
    set[0] = carried | sectors;
    return carried & sectors;
  }
  for (unsigned way = 1; way < ways_; ++way) {
    const std::uint32_t tag = set[way];
    set[way] = carried;
    if ((tag & ~0xFU) == wanted) {
      set[0] = tag | sectors;
      return tag & sectors;
    }
    carried = tag;
  }
  set[0] = wanted | sectors;
  return 0;
}

namespace {

struct ClassCost {
  std::uint32_t latency = 1;
  std::uint32_t issue = 16;
};

/// Issue cost in 1/16 cycles of a scheduler, for a unit with `lanes` per cycle and SM.
std::uint32_t issue_cost(double lanes, std::uint32_t schedulers) {
  return static_cast<std::uint32_t>(std::lround(std::max(1.0, 32.0 * schedulers / lanes) * 16));
}

std::array<ClassCost, static_cast<std::size_t>(CostClass::Count)> class_costs(
    const hardware::GpuDescription& gpu) {
  std::array<ClassCost, static_cast<std::size_t>(CostClass::Count)> out{};
  const auto set = [&](CostClass c, std::uint32_t latency, double lanes) {
    out[static_cast<std::size_t>(c)] = {latency, issue_cost(lanes, gpu.schedulers)};
  };
  const double full = 32.0 * gpu.schedulers;
  // Integer work runs beside float work: only what exceeds one issue per cycle counts, so it is
  // charged at the mean of the two.
  set(CostClass::Move, gpu.alu_latency, full);
  set(CostClass::Integer, gpu.alu_latency, (gpu.integer_lanes + full) / 2);
  set(CostClass::Wide, gpu.alu_latency + 2, gpu.integer_lanes);
  set(CostClass::Float, gpu.alu_latency, gpu.float_lanes);
  set(CostClass::Double, gpu.double_latency, gpu.double_lanes);
  set(CostClass::Special, gpu.special_latency, gpu.special_lanes);
  set(CostClass::Convert, gpu.alu_latency + 2, gpu.convert_lanes);
  set(CostClass::Memory, 1, full);
  set(CostClass::Shared, gpu.shared_latency, gpu.shared_bytes_per_cycle / 4);
  set(CostClass::Atomic, 1, full);
  set(CostClass::Tensor, gpu.tensor_latency, full);
  set(CostClass::Barrier, 1, full);
  set(CostClass::Control, 4, full);
  return out;
}

}  // namespace

CostTable make_cost_table(const Kernel& kernel, const hardware::GpuDescription& gpu) {
  const auto costs = class_costs(gpu);
  const double cycle_ps = 1000.0 / gpu.clock_ghz;
  CostTable table;
  const std::size_t count = kernel.ops.size();
  table.before.resize(count + 1);
  std::vector<std::uint64_t> issued(count + 1);  // The cycle at which op i issues.
  std::uint64_t cycle = 0;
  std::uint64_t slots = 0;
  const auto set = [&](std::size_t i) {
    const auto latency = static_cast<std::uint64_t>(static_cast<double>(issued[i]) * cycle_ps);
    const auto issue =
        static_cast<std::uint64_t>(static_cast<double>(slots) * cycle_ps / (16.0 * gpu.schedulers));
    table.before[i] = {static_cast<std::uint32_t>(latency), static_cast<std::uint32_t>(issue)};
  };
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t start = cycle;
    for (const std::uint8_t distance : kernel.producers[i]) {
      if (distance == 0 || distance > i) continue;
      const auto producer = static_cast<std::size_t>(kernel.ops[i - distance].cost);
      start = std::max(start, issued[i - distance] + costs[producer].latency);
    }
    issued[i] = start;
    set(i);
    cycle = start + 1;  // What follows cannot issue before the next cycle.
    slots += costs[static_cast<std::size_t>(kernel.ops[i].cost)].issue;
  }
  issued[count] = cycle;
  set(count);
  return table;
}

Timing::Timing(const hardware::GpuDescription& gpu)
    : cycle(static_cast<VTime>(std::lround(1000.0 / gpu.clock_ghz))),
      l1_latency(gpu.l1_latency * cycle),
      l2_latency(gpu.l2_latency * cycle),
      hbm_latency(gpu.hbm_latency * cycle),
      shared_latency(gpu.shared_latency * cycle),
      atomic_latency(gpu.atomic_latency * cycle),
      barrier_latency(gpu.barrier_latency * cycle),
      l2_ps_per_byte(1000.0 / gpu.l2_gbs),
      hbm_ps_per_byte(1000.0 / gpu.hbm_gbs),
      schedulers(gpu.schedulers),
      l2(16, 2048),
      hbm(16, 2048),
      l2_tags(gpu.l2_bytes, 8) {}

}  // namespace cuco::vgpu
