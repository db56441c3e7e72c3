// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing/timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cuco::vgpu {

namespace {

struct ClassCost {
  std::uint32_t latency = 1;
  std::uint32_t issue = 16;
};

/// Issue cost in 1/16 cycles of a scheduler, for a unit with `lanes` per cycle and SM.
std::uint32_t issue_cost(double lanes, std::uint32_t schedulers) {
  return static_cast<std::uint32_t>(std::lround(std::max(1.0, 32.0 * schedulers / lanes) * 16));
}

/// Cycles of an SM for one warp of what is a whole routine, or a slow unit's, in machine code, as
/// measured on an H200 (tests/conformance/records/h200_calibration.json, bench/sanity); 0: it is
/// what its class says.
double routine_cycles(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  const std::uint32_t bytes =
      instruction.types.empty() ? 4 : ptx::size_of(instruction.types.front());
  const bool is_float =
      !instruction.types.empty() &&
      (instruction.types.front() == ptx::Type::F32 || instruction.types.front() == ptx::Type::F64);
  const bool is_approximate =
      instruction.has(ptx::Modifier::Approx) || instruction.has(ptx::Modifier::Full);
  switch (instruction.opcode) {
    case Opcode::Div:
    case Opcode::Rem:
      if (is_float) return bytes == 8 ? 7.5 : is_approximate ? 0 : 4.3;
      return bytes == 8 ? 34 : 7;
    case Opcode::Sqrt:
    case Opcode::Rcp:
      return is_float && bytes == 8 ? 7.5 : 0;
    case Opcode::Popc:
    case Opcode::Brev:
    case Opcode::Clz:
    case Opcode::Bfind:
      return 2 * (bytes == 8 ? 2 : 1);
    case Opcode::Match:
      return 25;
    default:
      return 0;
  }
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
  set(CostClass::Shared, gpu.shared_latency, full);
  set(CostClass::Atomic, 1, full);
  set(CostClass::Tensor, gpu.tensor_latency, full);
  set(CostClass::Barrier, 1, full);
  set(CostClass::Control, 4, full);
  return out;
}

/// Multiply-adds of one mma or wmma.mma.
std::uint32_t macs_of(const ptx::Instruction& instruction) {
  using M = ptx::Modifier;
  for (const M modifier : instruction.modifiers) {
    switch (modifier) {
      case M::M8n8k4:
        return 8 * 8 * 4;
      case M::M8n8k16:
        return 8 * 8 * 16;
      case M::M8n8k32:
        return 8 * 8 * 32;
      case M::M8n8k128:
        return 8 * 8 * 128;
      case M::M16n8k4:
        return 16 * 8 * 4;
      case M::M16n8k8:
        return 16 * 8 * 8;
      case M::M16n8k16:
        return 16 * 8 * 16;
      case M::M16n8k32:
        return 16 * 8 * 32;
      case M::M16n8k64:
        return 16 * 8 * 64;
      case M::M16n8k128:
        return 16 * 8 * 128;
      case M::M16n8k256:
        return 16 * 8 * 256;
      case M::M16n16k8:
        return 16 * 16 * 8;
      case M::M16n16k16:
      case M::M32n8k16:
      case M::M8n32k16:
        return 16 * 16 * 16;
      default:
        break;
    }
  }
  return 0;
}

/// Dense rate of the operand type, in 10^12 operations per second.
double tensor_rate(const ptx::Instruction& instruction, const hardware::GpuDescription& gpu) {
  for (const ptx::Type type : instruction.types) {
    switch (type) {
      case ptx::Type::F64:
        return gpu.tensor_f64_tflops;
      case ptx::Type::Tf32:
        return gpu.tensor_tf32_tflops;
      case ptx::Type::E4m3:
      case ptx::Type::E5m2:
        return gpu.tensor_f8_tflops;
      case ptx::Type::S8:
      case ptx::Type::U8:
      case ptx::Type::S4:
      case ptx::Type::U4:
      case ptx::Type::B1:
        return gpu.tensor_s8_tops;
      default:
        break;
    }
  }
  return gpu.tensor_f16_tflops;
}

/// Issue cost of a tensor-core op, in 1/16 of a scheduler's cycle: each scheduler has one unit.
std::uint32_t tensor_cost(const ptx::Instruction& instruction,
                          const hardware::GpuDescription& gpu) {
  const double macs_per_cycle_and_sm =
      tensor_rate(instruction, gpu) * 1e12 / 2 / (gpu.sms * gpu.clock_ghz * 1e9);
  const double cycles = macs_of(instruction) * gpu.schedulers / macs_per_cycle_and_sm;
  return static_cast<std::uint32_t>(std::lround(std::max(1.0, cycles) * 16));
}

Timing::SectorCosts sector_costs(double gigabytes_per_second) {
  Timing::SectorCosts out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<VTime>(32.0 * static_cast<double>(i) * (1000.0 / gigabytes_per_second));
  }
  return out;
}

}  // namespace

namespace {

/// What ptxas spills, guessed from the PTX: values that are live beyond the registers go to local
/// memory and come back when they are wanted. PTX keeps more alive than machine code does
/// (addresses are computed anew there), so half as many again are taken to fit.
class Spills {
 public:
  Spills(const Kernel& kernel, std::uint32_t registers)
      : kernel_(kernel), fit_(kernel.info.registers_known ? 0 : registers + registers / 2) {}

  /// The part of an op's operands that is in local memory.
  [[nodiscard]] double part(std::size_t op) const {
    if (kernel_.info.registers_known) return known_part(op);
    const std::uint32_t live = op < kernel_.pressure.size() ? kernel_.pressure[op] : 0;
    return live <= fit_ ? 0 : static_cast<double>(live - fit_) / live;
  }
  /// Operands of most instructions: two that are read and one that is written.
  static constexpr double kReads = 2;
  static constexpr double kWrites = 1;
  // Cycles of an SM's memory path, and of a warp that waits, as on an H200 (bench/sanity).
  static constexpr double kReadCycles = 4;
  static constexpr double kWriteCycles = 4;

 private:
  /// ptxas says how much it spilled, not where: where most is live.
  [[nodiscard]] double known_part(std::size_t op) const {
    const std::uint32_t words = kernel_.info.spilled_bytes / 4;
    if (words == 0 || op >= kernel_.pressure.size()) return 0;
    const std::uint32_t live = kernel_.pressure[op];
    const std::uint32_t kept = kernel_.info.registers;
    return live <= kept ? 0 : static_cast<double>(std::min(words, live - kept)) / live;
  }

  const Kernel& kernel_;
  std::uint32_t fit_;
};

}  // namespace

CostTable make_cost_table(const Kernel& kernel,
                          const hardware::GpuDescription& gpu,
                          std::uint32_t registers) {
  const Spills spills(kernel, registers);
  double more_latency = 0;
  double more_path = 0;
  const auto costs = class_costs(gpu);
  const double cycle_ps = 1000.0 / gpu.clock_ghz;
  CostTable table;
  const std::size_t count = kernel.ops.size();
  table.before.resize(count + 1);
  std::vector<std::uint64_t> issued(count + 1);  // The cycle at which op i issues.
  std::uint64_t cycle = 0;
  std::uint64_t slots = 0;
  const auto set = [&](std::size_t i) {
    const auto latency =
        static_cast<std::uint64_t>((static_cast<double>(issued[i]) + more_latency) * cycle_ps);
    const auto issue = static_cast<std::uint64_t>(
        (static_cast<double>(slots) / (16.0 * gpu.schedulers) + more_path) * cycle_ps);
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
    const double routine = kernel.ops[i].cost == CostClass::Tensor
                               ? 0
                               : routine_cycles(*kernel.origins[kernel.ops[i].source].instruction);
    // A warp alone waits for its steps one by one, which are as long as four warps' work.
    more_latency += routine * gpu.schedulers;
    more_path += routine;
    const double part = spills.part(i);
    more_latency += part * Spills::kReads * gpu.l1_latency;
    more_path +=
        part * (Spills::kReads * Spills::kReadCycles + Spills::kWrites * Spills::kWriteCycles);
    cycle = start + 1;  // What follows cannot issue before the next cycle.
    slots += kernel.ops[i].cost == CostClass::Tensor
                 ? tensor_cost(*kernel.origins[kernel.ops[i].source].instruction, gpu)
                 : costs[static_cast<std::size_t>(kernel.ops[i].cost)].issue;
  }
  issued[count] = cycle;
  set(count);
  return table;
}

Timing::Timing(const hardware::GpuDescription& gpu)
    : cycle(static_cast<VTime>(std::lround(1000.0 / gpu.clock_ghz))),
      native_tensor(gpu.native_tensor),
      l1_latency(gpu.l1_latency * cycle),
      l2_latency(gpu.l2_latency * cycle),
      hbm_latency(gpu.hbm_latency * cycle),
      shared_latency(gpu.shared_latency * cycle),
      atomic_latency(gpu.atomic_latency * cycle),
      barrier_latency(gpu.barrier_latency * cycle),
      fence_cycles{gpu.fence_cta, gpu.fence_cta, gpu.fence_gpu, gpu.fence_sys},
      l2_sectors(sector_costs(gpu.l2_gbs)),
      hbm_sectors(sector_costs(gpu.hbm_gbs)),
      schedulers(gpu.schedulers),
      l2_tags(gpu.l2_bytes, 8),
      atomic_unit(static_cast<VTime>(gpu.atomic_word_ns * kNanosecond)),
      atomic_float_unit(static_cast<VTime>(gpu.atomic_float_word_ns * kNanosecond)),
      atomic_units(std::size_t{1} << kAtomicUnitBits) {}

}  // namespace cuco::vgpu
