// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/control_flow.h"

#include <algorithm>

namespace cuco::ptx {
namespace {

bool is_end_of_thread(Opcode opcode) {
  return opcode == Opcode::Ret || opcode == Opcode::Exit || opcode == Opcode::Trap;
}

bool ends_block(Opcode opcode) {
  return opcode == Opcode::Bra || opcode == Opcode::Brx || is_end_of_thread(opcode);
}

/// Where a branch may go; empty for anything else.
std::vector<std::uint32_t> targets_of(const Function& function, const Instruction& instruction) {
  if (instruction.opcode == Opcode::Bra && !instruction.operands.empty()) {
    return {instruction.operands[0].index};
  }
  if (instruction.opcode == Opcode::Brx && instruction.targets >= 0) {
    return function.branch_targets[static_cast<std::size_t>(instruction.targets)];
  }
  return {};
}

void add_successors(const Function& function, ControlFlow& flow, BasicBlock& block) {
  const Instruction& last = function.instructions[block.end - 1];
  const auto size = static_cast<std::uint32_t>(function.instructions.size());
  const auto add = [&](std::uint32_t instruction) {
    if (instruction >= size) {
      block.leaves = true;
    } else {
      block.successors.push_back(flow.block_of[instruction]);
    }
  };
  for (const std::uint32_t target : targets_of(function, last))
    add(target);
  block.leaves |= is_end_of_thread(last.opcode);
  // A guarded branch may fall through, as may a block that a label ends.
  if (last.guarded || !ends_block(last.opcode)) add(block.end);
  std::sort(block.successors.begin(), block.successors.end());
  block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                         block.successors.end());
}

}  // namespace

ControlFlow control_flow(const Function& function) {
  const auto size = static_cast<std::uint32_t>(function.instructions.size());
  std::vector<bool> leader(size + 1, false);
  leader[0] = true;
  for (std::uint32_t i = 0; i < size; ++i) {
    const Instruction& instruction = function.instructions[i];
    if (ends_block(instruction.opcode)) leader[i + 1] = true;
    for (const std::uint32_t target : targets_of(function, instruction))
      leader[target] = true;
  }
  ControlFlow flow;
  flow.block_of.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    if (leader[i]) flow.blocks.push_back({.begin = i});
    flow.block_of[i] = static_cast<std::uint32_t>(flow.blocks.size() - 1);
    flow.blocks.back().end = i + 1;
  }
  for (BasicBlock& block : flow.blocks)
    add_successors(function, flow, block);
  return flow;
}

}  // namespace cuco::ptx
