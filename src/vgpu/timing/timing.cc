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

/// What is a whole routine, or a slow unit's, in machine code, as measured on an H200
/// (tests/conformance/records/h200_calibration.json, bench/sanity).
struct Routine {
  double cycles = 0;   ///< Of an SM for one warp; 0: it is what its class says.
  double latency = 0;  ///< Until a warp alone has the result.
};

Routine division(bool is_float, bool is_wide) {
  if (is_float) return is_wide ? Routine{7.5, 125} : Routine{4.3, 57};
  return is_wide ? Routine{34, 355} : Routine{7, 130};
}

Routine routine_of(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  const ptx::Type type = instruction.types.empty() ? ptx::Type::B32 : instruction.types.front();
  const bool is_wide = ptx::size_of(type) == 8;
  const bool is_float = type == ptx::Type::F32 || type == ptx::Type::F64;
  const bool is_approximate =
      instruction.has(ptx::Modifier::Approx) || instruction.has(ptx::Modifier::Full);
  if (is_float && is_approximate) return {};
  switch (instruction.opcode) {
    case Opcode::Div:
    case Opcode::Rem:
      return division(is_float, is_wide);
    case Opcode::Sqrt:
      return is_wide ? Routine{7.5, 95} : Routine{2.6, 58};
    case Opcode::Rcp:
      return is_wide ? Routine{7.5, 76} : Routine{3.5, 80};
    case Opcode::Match:
      return {25, 35};
    default:
      return {};
  }
}

/// What stands around an instruction in machine code, or follows from what it works on.
struct Around {
  double latency = 0;
  double slots = 0;  ///< Further instructions.
  double turns = 1;  ///< Of its own unit.
};

/// Measured on an H200, a chain of each.
Around around(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  const ptx::Type type = instruction.types.empty() ? ptx::Type::B32 : instruction.types.front();
  // Small numbers are scaled before and behind.
  const bool is_scaled = type == ptx::Type::F32 && !instruction.has(ptx::Modifier::Ftz) &&
                         !instruction.has(ptx::Modifier::Rn);
  switch (instruction.opcode) {
    case Opcode::Ex2:
    case Opcode::Rsqrt:
    case Opcode::Rcp:
    case Opcode::Sqrt:
      return is_scaled ? Around{23, 3} : Around{};
    case Opcode::Lg2:
      return is_scaled ? Around{16, 3} : Around{};
    case Opcode::Sin:
    case Opcode::Cos:
      return {6, 1};
    case Opcode::Setp:
      return {9};  // Predicates come later than registers.
    case Opcode::Popc:
    case Opcode::Brev:
    case Opcode::Clz:
    case Opcode::Bfind:
      return ptx::size_of(type) == 8 ? Around{12, 1, 2} : Around{};
    default:
      return {};
  }
}

/// Does the unit of special functions do it?
bool counts_bits(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  switch (instruction.opcode) {
    case Opcode::Popc:
    case Opcode::Brev:
    case Opcode::Clz:
    case Opcode::Bfind:
      return true;
    default:
      return false;
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

/// One basic block as ptxas has it: what its instructions take of each unit of a scheduler, and how
/// long a warp alone needs for them.
class BlockCost {
 public:
  BlockCost(const Kernel& kernel, const hardware::GpuDescription& gpu)
      : kernel_(kernel), gpu_(gpu), costs_(class_costs(gpu)) {}

  struct Total {
    double as_written = 0;  ///< Cycles of a warp alone, one instruction after the other...
    double alone = 0;       ///< ...and in the best order.
    double slots = 0;       ///< Cycles of a scheduler: its busiest unit's.
  };

  /// Ops begin … end - 1. `issued` gets the cycle in which each is issued in the order of the PTX.
  Total measure(std::size_t begin, std::size_t end, std::vector<double>& issued) {
    Total total;
    std::array<double, static_cast<std::size_t>(CostClass::Count)> units{};
    double slots = 0;
    double issues = 0;
    free_.assign(end - begin, 0);
    for (std::size_t i = begin; i < end; ++i) {
      double start = total.as_written;
      double earliest = 0;
      for (const std::uint8_t distance : kernel_.producers[i]) {
        if (distance == 0 || distance > i - begin) continue;
        const double latency = latency_of(i - distance, i);
        start = std::max(start, issued[i - distance] + latency);
        earliest = std::max(earliest, free_[i - distance - begin] + latency);
      }
      issued[i] = start;
      free_[i - begin] = earliest;
      // What follows cannot issue before the next cycle, or before a routine's last step.
      const double issue = 1 + routine(i).cycles * gpu_.schedulers;
      total.as_written = start + issue;
      issues += issue;
      // Whoever goes on with a result waits for it; the scoreboard knows the time of loads.
      const bool from_memory = kernel_.ops[i].cost == CostClass::Shared;
      total.alone = std::max(total.alone, earliest + (from_memory ? 1 : latency_of(i, end - 1)));
      if (routine(i).cycles != 0) continue;
      const Around beside = around(instruction(i));
      slots += 1 + beside.slots;
      units[unit_of(i)] += unit_cycles(i) * beside.turns;
    }
    total.slots = std::max(slots, *std::ranges::max_element(units));
    total.alone = std::max(total.alone, issues);
    return total;
  }

  [[nodiscard]] Routine routine(std::size_t op) const {
    return kernel_.ops[op].cost == CostClass::Tensor ? Routine{} : routine_of(instruction(op));
  }

 private:
  [[nodiscard]] const ptx::Instruction& instruction(std::size_t op) const {
    return *kernel_.origins[kernel_.ops[op].source].instruction;
  }
  /// Until `consumer` can have its result. The end of a loop that ptxas unrolls waits for nothing.
  [[nodiscard]] double latency_of(std::size_t op, std::size_t consumer) const {
    const Routine whole = routine(op);
    if (whole.latency != 0) return whole.latency;
    const bool is_end = instruction(op).opcode == ptx::Opcode::Setp &&
                        instruction(consumer).opcode == ptx::Opcode::Bra &&
                        kernel_.ops[consumer].aux != 0;
    return costs_[static_cast<std::size_t>(kernel_.ops[op].cost)].latency +
           (is_end ? 0 : around(instruction(op)).latency);
  }
  [[nodiscard]] CostClass class_of(std::size_t op) const {
    return counts_bits(instruction(op)) ? CostClass::Special : kernel_.ops[op].cost;
  }
  [[nodiscard]] std::size_t unit_of(std::size_t op) const {
    return static_cast<std::size_t>(class_of(op));
  }
  [[nodiscard]] double unit_cycles(std::size_t op) const {
    if (kernel_.ops[op].cost == CostClass::Tensor) return tensor_cost(instruction(op), gpu_) / 16.0;
    return costs_[unit_of(op)].issue / 16.0;
  }

  const Kernel& kernel_;
  const hardware::GpuDescription& gpu_;
  std::array<ClassCost, static_cast<std::size_t>(CostClass::Count)> costs_;
  std::vector<double> free_;  ///< When each op could be issued if only its operands counted.
};

/// ptxas orders a basic block nearly as well as can be: this part of what the order of the PTX
/// costs is left.
constexpr double kOrderShare = 0.25;

}  // namespace

CostTable make_cost_table(const Kernel& kernel,
                          const hardware::GpuDescription& gpu,
                          std::uint32_t registers) {
  const Spills spills(kernel, registers);
  BlockCost blocks(kernel, gpu);
  const double cycle_ps = 1000.0 / gpu.clock_ghz;
  const std::size_t count = kernel.ops.size();
  CostTable table;
  table.before.resize(count + 1);
  std::vector<double> issued(count + 1);
  double latency = 0;  // Of a warp alone, in cycles, up to here.
  double path = 0;     // Of the SM.
  const auto set = [&](std::size_t i) {
    table.before[i] = {static_cast<std::uint32_t>(static_cast<std::uint64_t>(latency * cycle_ps)),
                       static_cast<std::uint32_t>(static_cast<std::uint64_t>(path * cycle_ps))};
  };
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && !kernel.leaders[end])
      ++end;
    const BlockCost::Total total = blocks.measure(begin, end, issued);
    issued[end] = total.as_written;
    const double length = total.alone + kOrderShare * std::max(0.0, total.as_written - total.alone);
    const double stretch = length / total.as_written;
    const double share = total.slots / (gpu.schedulers * static_cast<double>(end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      set(i);
      const double part = spills.part(i);
      latency += (issued[i + 1] - issued[i]) * stretch + part * Spills::kReads * gpu.l1_latency;
      path +=
          share + blocks.routine(i).cycles +
          part * (Spills::kReads * Spills::kReadCycles + Spills::kWrites * Spills::kWriteCycles);
    }
    begin = end;
  }
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
      l2_stored_sectors(sector_costs(gpu.l2_write_gbs)),
      hbm_sectors(sector_costs(gpu.hbm_gbs)),
      l2_part(
          std::max<VTime>(0, static_cast<VTime>(1000.0 / gpu.l2_part_gops) - l2_stored_sectors[1])),
      hbm_by_pairs(gpu.hbm_granule > 32),
      schedulers(gpu.schedulers),
      l2_tags(gpu.l2_reach, 8),
      atomic_unit(static_cast<VTime>(gpu.atomic_word_ns * kNanosecond)),
      atomic_float_unit(static_cast<VTime>(gpu.atomic_float_word_ns * kNanosecond)),
      atomic_clash_unit(static_cast<VTime>(gpu.atomic_clash_ns * kNanosecond)),
      atomic_units(std::size_t{1} << kAtomicUnitBits) {}

}  // namespace cuco::vgpu
