// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/loop_exit.h"

#include <algorithm>
#include <vector>

#include "ptx/flow/control_flow.h"
#include "ptx/flow/register_access.h"

namespace cuco::ptx {
namespace {

/// The blocks that come after `start` on some path; itself only if it is in a loop.
std::vector<bool> reachable(const ControlFlow& flow, std::uint32_t start) {
  std::vector<bool> seen(flow.blocks.size(), false);
  std::vector<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    for (const std::uint32_t next : flow.blocks[block].successors) {
      if (seen[next]) continue;
      seen[next] = true;
      open.push_back(next);
    }
  }
  return seen;
}

/// Registers whose values may depend on those that the instruction writes, in whatever order.
std::vector<bool> dependents(const Function& function, std::uint32_t instruction) {
  std::vector<bool> tainted(function.registers.size(), false);
  RegisterAccess access;
  find_access(function, function.instructions[instruction], access);
  for (const std::uint32_t reg : access.writes)
    tainted[reg] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Instruction& one : function.instructions) {
      find_access(function, one, access);
      if (!std::ranges::any_of(access.reads, [&](std::uint32_t r) { return tainted[r]; })) continue;
      for (const std::uint32_t reg : access.writes) {
        grew = grew || !tainted[reg];
        tainted[reg] = true;
      }
    }
  }
  return tainted;
}

/// What an instruction does with a value, beyond computing another one from it.
bool passes_on(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::Mov:
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Mad:
    case Opcode::Cvt:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Shl:
    case Opcode::Shr:
    case Opcode::Setp:
    case Opcode::Selp:
      return instruction.guarded;
    default:
      return true;
  }
}

}  // namespace

bool decides_loop(const Function& function, std::uint32_t instruction) {
  // Who calls the function may do so in a loop.
  if (!function.is_entry) return true;
  const ControlFlow flow = control_flow(function);
  const std::uint32_t home = flow.block_of[instruction];
  const std::vector<bool> after = reachable(flow, home);
  if (!after[home]) return false;
  const std::vector<bool> tainted = dependents(function, instruction);
  RegisterAccess access;
  for (std::uint32_t block = 0; block < flow.blocks.size(); ++block) {
    if (!after[block] || !reachable(flow, block)[home]) continue;
    for (std::uint32_t i = flow.blocks[block].begin; i < flow.blocks[block].end; ++i) {
      if (!passes_on(function.instructions[i])) continue;
      find_access(function, function.instructions[i], access);
      if (std::ranges::any_of(access.reads, [&](std::uint32_t r) { return tainted[r]; }))
        return true;
    }
  }
  return false;
}

}  // namespace cuco::ptx
