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

namespace {

/// Dominators of the reversed graph (Cooper, Harvey, Kennedy: "A simple, fast dominance
/// algorithm"), with one more node for the world outside the function.
class PostDominators {
 public:
  explicit PostDominators(const ControlFlow& flow)
      : flow_(flow), exit_(static_cast<std::uint32_t>(flow.blocks.size())) {}

  std::vector<std::uint32_t> solve() {
    number_blocks();
    std::vector<std::uint32_t> result(exit_ + 1, kNoBlock);
    result[exit_] = exit_;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = order_.size(); i-- > 0;) {
        const std::uint32_t block = order_[i];
        if (block == exit_) continue;
        const std::uint32_t nearest = meet_of_successors(result, block);
        changed |= result[block] != nearest;
        result[block] = nearest;
      }
    }
    result.pop_back();
    std::replace(result.begin(), result.end(), exit_, kNoBlock);
    return result;
  }

 private:
  /// Post-order of the reversed graph from the exit; blocks without a way out stay unnumbered.
  void number_blocks() {
    std::vector<std::vector<std::uint32_t>> predecessors(exit_ + 1);
    for (std::uint32_t b = 0; b < exit_; ++b) {
      for (const std::uint32_t successor : flow_.blocks[b].successors) {
        predecessors[successor].push_back(b);
      }
      if (flow_.blocks[b].leaves) predecessors[exit_].push_back(b);
    }
    number_.assign(exit_ + 1, kNoBlock);
    std::vector<bool> seen(exit_ + 1, false);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack = {{exit_, 0}};
    seen[exit_] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next < predecessors[block].size()) {
        const std::uint32_t predecessor = predecessors[block][next++];
        if (!seen[predecessor]) {
          seen[predecessor] = true;
          stack.emplace_back(predecessor, 0);
        }
        continue;
      }
      number_[block] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(block);
      stack.pop_back();
    }
  }

  [[nodiscard]] std::uint32_t meet_of_successors(const std::vector<std::uint32_t>& result,
                                                 std::uint32_t block) const {
    std::uint32_t nearest = flow_.blocks[block].leaves ? exit_ : kNoBlock;
    for (const std::uint32_t successor : flow_.blocks[block].successors) {
      if (number_[successor] == kNoBlock || result[successor] == kNoBlock) continue;
      nearest = nearest == kNoBlock ? successor : meet(result, nearest, successor);
    }
    return nearest;
  }

  [[nodiscard]] std::uint32_t meet(const std::vector<std::uint32_t>& result,
                                   std::uint32_t a,
                                   std::uint32_t b) const {
    while (a != b) {
      while (number_[a] < number_[b])
        a = result[a];
      while (number_[b] < number_[a])
        b = result[b];
    }
    return a;
  }

  const ControlFlow& flow_;
  std::uint32_t exit_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> immediate_post_dominators(const ControlFlow& flow) {
  return PostDominators(flow).solve();
}

}  // namespace cuco::ptx
