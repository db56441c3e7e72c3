// SPDX-License-Identifier: Apache-2.0
// The order that ptxas gives loads: to the beginning of their basic block, and of several turns of
// a loop that it unrolls.
#include <algorithm>

#include "ptx/flow/register_access.h"
#include "vgpu/lower/kernel_builder.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t kScoreboardSlots = 16;
constexpr std::uint32_t kJoinedTurns = 4;
/// Instructions of the longest loop that was seen unrolled: 64; of the shortest one that was not,
/// 107 (bench/calibration/further.cu).
constexpr std::size_t kLongestUnrolled = 80;
/// The same of loops that the compiler before ptxas has unrolled already: 19 and 39.
constexpr std::size_t kLongestUnrolledAgain = 24;

/// A load of which the order among others does not matter: neither a flag nor a copy.
bool can_come_early(const ptx::Instruction& instruction) {
  if (!is_load(instruction) || instruction.opcode == ptx::Opcode::Atom) return false;
  if (instruction.opcode == ptx::Opcode::Wmma) return instruction.has(ptx::Modifier::Load);
  return instruction.opcode != ptx::Opcode::Multimem &&
         Lowering::memory_aux(instruction).order == Order::Weak;
}

/// Could it change what a load behind it reads? Then that load stays behind it.
bool has_effect(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  switch (instruction.opcode) {
    case Opcode::St: {
      const ptx::Space space = Lowering::memory_aux(instruction).space;
      return space == ptx::Space::Global || space == ptx::Space::Generic;
    }
    case Opcode::Wmma:
      return instruction.has(ptx::Modifier::Store);
    case Opcode::Atom:
    case Opcode::Red:
    case Opcode::Multimem:
    case Opcode::Bar:
    case Opcode::Barrier:
    case Opcode::Membar:
    case Opcode::Fence:
    case Opcode::Call:
    case Opcode::Mbarrier:
      return true;
    default:
      return false;
  }
}

bool ends_block(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  return instruction.opcode == Opcode::Bra || instruction.opcode == Opcode::Brx ||
         instruction.opcode == Opcode::Call || instruction.opcode == Opcode::Ret ||
         instruction.opcode == Opcode::Exit;
}

/// By how much the number grows in each turn by which the branch goes on; 0: not by a constant.
std::int64_t step_of(const ptx::Function& function, std::size_t begin, std::size_t branch) {
  const std::span loop = std::span(function.instructions).subspan(begin, branch - begin);
  const auto writes = [](const ptx::Instruction& in, std::uint32_t reg) {
    return !in.operands.empty() && in.operands[0].kind == ptx::Operand::Kind::Register &&
           in.operands[0].index == reg;
  };
  const ptx::Instruction& end = function.instructions[branch];
  const auto test = std::ranges::find_if(loop, [&](const ptx::Instruction& in) {
    return in.opcode == ptx::Opcode::Setp && writes(in, end.guard);
  });
  if (!end.guarded || test == loop.end()) return 0;
  for (const ptx::Operand& tested : test->operands) {
    if (tested.kind != ptx::Operand::Kind::Register || tested.index == end.guard) continue;
    const auto step = std::ranges::find_if(loop, [&](const ptx::Instruction& in) {
      return in.opcode == ptx::Opcode::Add && writes(in, tested.index) &&
             in.operands.back().kind == ptx::Operand::Kind::Integer;
    });
    if (step != loop.end()) return static_cast<std::int64_t>(step->operands.back().value);
  }
  return 0;
}

/// Does ptxas unroll a loop of so many instructions? One that was unrolled before counts down by
/// the turns that are one now.
bool is_unrolled(std::size_t instructions, std::int64_t step) {
  return step != 0 && instructions <= (step < -1 ? kLongestUnrolledAgain : kLongestUnrolled);
}

}  // namespace

bool is_load(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  if (instruction.opcode == Opcode::Atom || instruction.opcode == Opcode::Wmma) return true;
  if (instruction.opcode == Opcode::Multimem) return instruction.has(ptx::Modifier::LdReduce);
  if (instruction.opcode != Opcode::Ld && instruction.opcode != Opcode::Ldu) return false;
  const ptx::Space space = Lowering::memory_aux(instruction).space;
  return space == ptx::Space::Global || space == ptx::Space::Generic || space == ptx::Space::Local;
}

void KernelBuilder::note_order(std::uint32_t op, const ptx::Instruction& instruction) {
  ptx::find_access(module_.functions[module_functions_[current_]], instruction, access_);
  const bool waits =
      std::ranges::any_of(access_.reads, [&](std::uint32_t reg) { return from_load_[reg]; });
  if (can_come_early(instruction) && !waits && !has_effects_) {
    kernel_->ops[op].aux |= 1U << MemoryAux::kEarlyBit;
  }
  for (const std::uint32_t reg : access_.writes)
    from_load_[reg] = waits || is_load(instruction);
  has_effects_ = has_effects_ || has_effect(instruction);
}

// Before anything is lowered: what a turn of a loop reads may be loaded further down, by the turn
// before.
void KernelBuilder::take_load_slots(const ptx::Function& function) {
  std::vector<std::uint32_t> written;
  for (const ptx::Instruction& in : function.instructions) {
    if (!is_load(in) || in.operands.empty() || in.operands[0].kind == ptx::Operand::Kind::Address) {
      continue;
    }
    // Nobody waits for what nobody reads.
    if (in.opcode == ptx::Opcode::Atom && !ptx::is_read(function, in.operands[0])) continue;
    written.clear();
    collect_registers(in.operands[0], written);
    std::uint16_t slot = 0;
    for (const std::uint32_t reg : written) {
      if (load_slot_[reg] != 0) continue;
      if (slot == 0) slot = static_cast<std::uint16_t>(next_slot_++ % kScoreboardSlots + 1U);
      load_slot_[reg] = slot;
    }
  }
}

std::size_t KernelBuilder::end_of_loop(const ptx::Function& function, std::size_t begin) const {
  for (std::size_t i = begin; i < function.instructions.size(); ++i) {
    if (i != begin && is_label_[i]) return 0;
    const ptx::Instruction& in = function.instructions[i];
    if (!ends_block(in)) continue;
    const bool back = in.opcode == ptx::Opcode::Bra && !in.operands.empty() &&
                      in.operands[0].kind == ptx::Operand::Kind::Label &&
                      in.operands[0].index == begin;
    return back ? i : 0;
  }
  return 0;
}

void KernelBuilder::begin_order(const ptx::Function& function, std::size_t begin) {
  from_load_.assign(load_slot_.size(), false);
  has_effects_ = false;
  joined_turns_ = 0;
  const std::size_t end = is_label_[begin] ? end_of_loop(function, begin) : 0;
  if (end == 0) return;
  const std::span loop = std::span(function.instructions).subspan(begin, end - begin);
  // What the turn before has loaded is waited for like any load.
  for (const ptx::Instruction& in : loop) {
    ptx::find_access(function, in, access_);
    const bool waits =
        std::ranges::any_of(access_.reads, [&](std::uint32_t reg) { return from_load_[reg]; });
    for (const std::uint32_t reg : access_.writes)
      from_load_[reg] = waits || is_load(in);
  }
  const bool told = std::ranges::any_of(function.pragmas, [&](const ptx::Pragma& pragma) {
    return pragma.instruction >= begin && pragma.instruction <= end && pragma.text == "nounroll";
  });
  if (!told && std::ranges::none_of(loop, has_effect) &&
      is_unrolled(loop.size(), step_of(function, begin, end))) {
    joined_turns_ = kJoinedTurns;
  }
}

}  // namespace cuco::vgpu
