// SPDX-License-Identifier: Apache-2.0
// Control flow: bra, brx.idx, exit, ret, trap (PTX ISA 9.7.12) and the traps of lowering.
#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

namespace {

/// The running split continues at `target`. Ends the quantum when its time is up.
void jump(Warp& w, const Op& op, const Op* target) {
  w.flush_segment();
  const bool backward = target <= &op;
  w.go_to(target);
  ++w.epoch;
  ++w.pass;
  if (w.splits.size() > 1) {
    // Others may be at the target, or behind it now.
    if (backward) ++w.splits[w.current].backward;
    w.stop = nullptr;
  } else if (w.clock > w.limit) {
    w.stop = nullptr;
  }
}

void exec_bra(Warp& w, const Op& op) {
  const Op* const target = w.kernel->ops.data() + op.imm;
  if (w.active == w.mask) {
    jump(w, op, target);
    // Of the turns that ptxas joins, only the first begins anew.
    if (op.aux != 0 && ++w.turns % op.aux != 0) --w.pass;
    return;
  }
  // Diverges: the lanes at the lower op go on, the others become a split of their own.
  w.flush_segment();
  ++w.grid->counters.divergent_branches;
  const std::uint32_t taken = w.active;
  if (target < w.ip) {
    isolate(w, taken);
    jump(w, op, target);
    return;
  }
  const std::uint32_t rest = w.mask & ~taken;
  Split away;
  away.frame = w.splits[w.current].frame;
  away.op = static_cast<std::uint32_t>(op.imm);
  away.mask = taken;
  away.ready_at = w.clock;
  w.mask = rest;
  w.splits[w.current].mask = rest;
  w.splits.push_back(std::move(away));
  update_stop(w);
}

/// Splits the lanes by target and puts each group there.
void exec_brx(Warp& w, const Op& op) {
  const auto& table = w.kernel->jump_tables[op.aux];
  const std::uint32_t* index = w.slots<std::uint32_t>(op.a);
  std::uint32_t open = w.active;
  for_active(open, [&](unsigned l) {
    if (index[l] >= table.size() && !w.trapped()) {
      w.raise(op, TrapKind::IllegalInstruction, l,
              fmt::format("branch index {} of {} targets", index[l], table.size()));
    }
  });
  if (w.trapped()) return;
  w.flush_segment();
  isolate(w, w.active);
  while (true) {
    const std::uint32_t target = table[index[std::countr_zero(open)]];
    std::uint32_t group = 0;
    for_active(open, [&](unsigned l) {
      if (table[index[l]] == target) group |= 1U << l;
    });
    open &= ~group;
    if (open == 0) {
      w.mask = group;
      w.splits[w.current].mask = group;
      jump(w, op, w.kernel->ops.data() + target);
      return;
    }
    Split away;
    away.frame = w.splits[w.current].frame;
    away.op = target;
    away.mask = group;
    away.ready_at = w.clock;
    w.splits.push_back(std::move(away));
  }
}

/// The active lanes end. What is left of the split goes on.
void exit_lanes(Warp& w) {
  w.flush_segment();
  const std::uint32_t lanes = w.active;
  for (auto& frame : w.frames)
    frame->lanes &= ~lanes;
  w.alive &= ~lanes;
  w.mask &= ~lanes;
  w.splits[w.current].mask = w.mask;
  if (w.mask == 0) {
    w.splits.erase(w.splits.begin() + w.current);
    w.departed = true;
    w.stop = nullptr;
  }
  // Exited lanes count as arrived.
  for (Split& split : w.splits) {
    if (split.state == Split::State::Sync) split.state = Split::State::Runnable;
  }
  if (w.splits.size() > 1) w.stop = nullptr;
  leave_block(w, lanes);
}

void exec_exit(Warp& w, const Op& /*op*/) {
  exit_lanes(w);
}

void exec_trap(Warp& w, const Op& op) {
  w.raise(op, TrapKind::Trap, static_cast<unsigned>(std::countr_zero(w.active)),
          op.aux != 0 ? "brkpt" : "trap");
}

void exec_nop(Warp& /*w*/, const Op& /*op*/) {}

void exec_nanosleep(Warp& w, const Op& op) {
  std::uint32_t longest = 0;
  const std::uint32_t* t = w.slots<std::uint32_t>(op.a);
  for_active(w.active, [&](unsigned l) { longest = std::max(longest, t[l]); });
  isolate(w, w.active);
  block_split(w, Split::State::Asleep, w.ip);
  // Hardware bounds the sleep to 1 ms (PTX ISA, nanosleep).
  w.splits[w.current].ready_at = w.clock + std::min<VTime>(longest, 1'000'000) * kNanosecond;
}

void exec_yield_nop(Warp& w, const Op& /*op*/) {
  w.spend(1);
}

}  // namespace

void exec_unsupported(Warp& w, const Op& op) {
  w.raise(op, TrapKind::Unsupported, static_cast<unsigned>(std::countr_zero(w.active)),
          w.kernel->failures[op.aux]);
}

void exec_ret(Warp& w, const Op& op) {
  Frame* frame = w.splits[w.current].frame;
  if (frame->parent == nullptr) {
    exit_lanes(w);
    return;
  }
  return_from_call(w, op);
}

bool lower_control(Lowering& lowering, const ptx::Instruction& instruction) {
  using ptx::Opcode;
  switch (instruction.opcode) {
    case Opcode::Bra: {
      if (instruction.operands.empty() ||
          instruction.operands[0].kind != ptx::Operand::Kind::Label) {
        return false;
      }
      lowering.emit(exec_bra, CostClass::Control).aux = lowering.builder().joined_turns();
      const auto op = static_cast<std::uint32_t>(lowering.builder().kernel().ops.size() - 1);
      lowering.builder().branch_to(op, instruction.operands[0].index);
      return true;
    }
    case Opcode::Brx: {
      if (instruction.targets < 0 || instruction.operands.empty()) return false;
      const Ref index = lowering.source(instruction.operands[0], ptx::Type::U32);
      auto& tables = lowering.builder().kernel().jump_tables;
      const auto table = static_cast<std::uint32_t>(tables.size());
      tables.emplace_back();
      for (const std::uint32_t target :
           lowering.function().branch_targets[static_cast<std::size_t>(instruction.targets)]) {
        lowering.builder().jump_table_entry(table, target);
      }
      Op& op = lowering.emit(exec_brx, CostClass::Control);
      op.a = index;
      op.aux = table;
      return true;
    }
    case Opcode::Exit:
      lowering.emit(exec_exit, CostClass::Control);
      return true;
    case Opcode::Ret:
      lowering.emit(exec_ret, CostClass::Control);
      return true;
    case Opcode::Trap:
      lowering.emit(exec_trap, CostClass::Control);
      return true;
    case Opcode::Brkpt:
      lowering.emit(exec_trap, CostClass::Control).aux = 1;
      return true;
    case Opcode::Pmevent:
      lowering.emit(exec_nop, CostClass::Control);
      return true;
    case Opcode::Nanosleep: {
      if (instruction.operands.size() != 1) return false;
      const Ref time = lowering.source(instruction.operands[0], ptx::Type::U32);
      lowering.emit(exec_nanosleep, CostClass::Control).a = time;
      return true;
    }
    case Opcode::Griddepcontrol:
    case Opcode::Setmaxnreg:
      lowering.emit(exec_yield_nop, CostClass::Control);
      return true;
    default:
      return false;
  }
}

}  // namespace cuco::vgpu
