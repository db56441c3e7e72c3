// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/uniform.h"

#include <algorithm>

#include "ptx/flow/register_access.h"

namespace cuco::ptx {
namespace {

constexpr unsigned kMaxSteps = 8;

/// The one instruction that writes a register; null: none, or several, or under a condition.
const Instruction* find_writer(const Function& function, std::uint32_t reg) {
  const Instruction* writer = nullptr;
  RegisterAccess access;
  for (const Instruction& instruction : function.instructions) {
    access.clear();
    find_access(function, instruction, access);
    if (std::ranges::find(access.writes, reg) == access.writes.end()) continue;
    if (writer != nullptr || !access.kills) return nullptr;
    writer = &instruction;
  }
  return writer;
}

bool is_uniform(const Function& function, const Operand& operand, unsigned steps);

bool is_uniform_result(const Function& function, const Instruction& writer, unsigned steps) {
  switch (writer.opcode) {
    case Opcode::Ld:
      // A parameter of a function is what its caller says.
      if (!function.is_entry || !writer.has(Modifier::Param)) return false;
      break;
    case Opcode::Mov:
    case Opcode::Cvta:
    case Opcode::Add:
      break;
    default:
      return false;
  }
  return std::all_of(writer.operands.begin() + 1, writer.operands.end(),
                     [&](const Operand& operand) { return is_uniform(function, operand, steps); });
}

bool is_uniform(const Function& function, const Operand& operand, unsigned steps) {
  using Kind = Operand::Kind;
  switch (operand.kind) {
    case Kind::Integer:
    case Kind::Float:
    case Kind::Symbol:
    case Kind::Local:
      return true;
    case Kind::Address:
      return std::ranges::all_of(operand.elements, [&](const Operand& element) {
        return is_uniform(function, element, steps);
      });
    case Kind::Register: {
      if (steps == 0) return false;
      const Instruction* writer = find_writer(function, operand.index);
      return writer != nullptr && !writer->operands.empty() &&
             is_uniform_result(function, *writer, steps - 1);
    }
    default:
      return false;
  }
}

}  // namespace

bool is_uniform(const Function& function, const Operand& operand) {
  return is_uniform(function, operand, kMaxSteps);
}

}  // namespace cuco::ptx
