// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/stored_type.h"

#include <algorithm>
#include <vector>

#include "ptx/flow/register_access.h"

namespace cuco::ptx {
namespace {

/// False: the type says nothing about the meaning of the bits.
bool add_float(Type type, StoredType& found) {
  switch (type) {
    case Type::F16:
    case Type::F16x2:
      return found.f16 = true;
    case Type::Bf16:
    case Type::Bf16x2:
      return found.bf16 = true;
    case Type::F32:
    case Type::F32x2:
    case Type::Tf32:
      return found.f32 = true;
    case Type::F64:
      return found.f64 = true;
    default:
      return false;
  }
}

bool is_integer(Type type) {
  switch (type) {
    case Type::U8:
    case Type::U16:
    case Type::U32:
    case Type::U64:
    case Type::S8:
    case Type::S16:
    case Type::S32:
    case Type::S64:
      return true;
    default:
      return false;
  }
}

bool is_float(Type type) {
  StoredType ignored;
  return add_float(type, ignored);
}

/// Arithmetic that nobody does with the bits of a float. Shifts, masks, minima and maxima are not
/// among it: packing, rounding and comparing by hand are done with these.
bool counts(Opcode opcode) {
  switch (opcode) {
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Mad:
    case Opcode::Mul24:
    case Opcode::Mad24:
    case Opcode::Div:
    case Opcode::Rem:
    case Opcode::Popc:
    case Opcode::Clz:
    case Opcode::Sad:
    case Opcode::Dp4a:
    case Opcode::Atom:
      return true;
    default:
      return false;
  }
}

class Search {
 public:
  explicit Search(const Function& function)
      : function_(function), seen_(function.registers.size(), false) {}

  void follow(const Operand& operand) {
    if (operand.kind == Operand::Kind::Special) found.integer = true;  // %tid.x
    if (operand.kind == Operand::Kind::Register) follow(operand.index);
    for (const Operand& element : operand.elements)
      follow(element);
  }

  StoredType found;

 private:
  void follow(std::uint32_t index) {
    if (index >= seen_.size() || seen_[index]) return;
    seen_[index] = true;
    RegisterAccess access;
    for (const Instruction& instruction : function_.instructions) {
      find_access(function_, instruction, access);
      if (std::ranges::find(access.writes, index) != access.writes.end()) add(instruction);
    }
  }

  void follow_sources(const Instruction& instruction) {
    for (std::size_t i = 1; i < instruction.operands.size(); ++i)
      follow(instruction.operands[i]);
  }

  /// What one writer of a register says about its value.
  void add(const Instruction& instruction) {
    const Type type = instruction.types.empty() ? Type::None : instruction.types.front();
    if (add_float(type, found)) return;
    switch (instruction.opcode) {
      case Opcode::Cvt:
        // From a float it is rounded; between integers bits are widened or cut.
        if (is_float(instruction.types.back())) {
          found.integer = true;
        } else {
          follow_sources(instruction);
        }
        return;
      case Opcode::Mov:
        return follow_sources(instruction);
      case Opcode::Selp:
        for (std::size_t i = 1; i < std::min<std::size_t>(instruction.operands.size(), 3); ++i)
          follow(instruction.operands[i]);
        return;
      case Opcode::Shfl:
        if (instruction.operands.size() > 1) follow(instruction.operands[1]);
        return;
      default:
        if (counts(instruction.opcode) && is_integer(type)) found.integer = true;
    }
  }

  const Function& function_;
  std::vector<bool> seen_;
};

}  // namespace

StoredType stored_type(const Function& function, const Instruction& instruction) {
  Search search(function);
  const Type type = instruction.types.empty() ? Type::None : instruction.types.front();
  if (add_float(type, search.found)) return search.found;
  const bool adds = instruction.has(Modifier::Add) || instruction.has(Modifier::Inc) ||
                    instruction.has(Modifier::Dec);
  if (adds && is_integer(type)) {
    search.found.integer = true;
    return search.found;
  }
  for (const Operand& operand : instruction.operands) {
    if (operand.kind != Operand::Kind::Address) search.follow(operand);
  }
  return search.found;
}

}  // namespace cuco::ptx
