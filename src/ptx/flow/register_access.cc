// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/register_access.h"

#include <algorithm>

namespace cuco::ptx {
namespace {

enum class Destination : std::uint8_t {
  First,    ///< The first operand, unless it is an address.
  None,     ///< All operands are sources.
  Unknown,  ///< Any operand may be written.
};

// NOLINTNEXTLINE(readability-function-size): a table
Destination destination_of(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::Unknown:
      return Destination::Unknown;
    case Opcode::St:
    case Opcode::Red:
    case Opcode::Bra:
    case Opcode::Brx:
    case Opcode::Ret:
    case Opcode::Exit:
    case Opcode::Trap:
    case Opcode::Brkpt:
    case Opcode::Fence:
    case Opcode::Membar:
    case Opcode::Cp:
    case Opcode::Prefetch:
    case Opcode::Prefetchu:
    case Opcode::Nanosleep:
    case Opcode::Stmatrix:
    case Opcode::Griddepcontrol:
    case Opcode::Setmaxnreg:
    case Opcode::Discard:
    case Opcode::Applypriority:
    case Opcode::Pmevent:
    case Opcode::Stackrestore:
      return Destination::None;
    case Opcode::Bar:
    case Opcode::Barrier:
      return instruction.has(Modifier::Red) ? Destination::First : Destination::None;
    case Opcode::Multimem:
      return instruction.has(Modifier::LdReduce) ? Destination::First : Destination::None;
    case Opcode::Wmma:
      return instruction.has(Modifier::Store) ? Destination::None : Destination::First;
    case Opcode::Mbarrier:
      // arrive, test_wait, try_wait and pending_count give a value, which may be left out.
      return Destination::First;
    default:
      return Destination::First;
  }
}

void collect(const Operand& operand, std::vector<std::uint32_t>& out) {
  if (operand.kind == Operand::Kind::Register) out.push_back(operand.index);
  for (const Operand& element : operand.elements)
    collect(element, out);
}

/// Video instructions write a part of their destination and keep the rest.
bool writes_part(const Operand& operand) {
  return operand.part != Part::Whole;
}

}  // namespace

void RegisterAccess::clear() {
  reads.clear();
  writes.clear();
  kills = false;
  is_asynchronous = false;
}

void find_access(const Function& function, const Instruction& instruction, RegisterAccess& access) {
  access.clear();
  if (instruction.guarded) access.reads.push_back(instruction.guard);
  access.kills = !instruction.guarded;
  access.is_asynchronous = instruction.opcode == Opcode::Wgmma;
  if (instruction.call >= 0) {
    const CallSite& call = function.calls[static_cast<std::size_t>(instruction.call)];
    collect(call.target, access.reads);
    for (const Operand& argument : call.arguments)
      collect(argument, access.reads);
    for (const Operand& result : call.returns)
      collect(result, access.writes);
    return;
  }
  const Destination destination =
      access.is_asynchronous ? Destination::Unknown : destination_of(instruction);
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    const bool is_address = operand.kind == Operand::Kind::Address;
    const bool is_destination = i == 0 && destination == Destination::First && !is_address;
    if (is_destination) {
      collect(operand, access.writes);
      if (writes_part(operand)) access.kills = false;
      continue;
    }
    collect(operand, access.reads);
    if (destination == Destination::Unknown && !is_address) {
      collect(operand, access.writes);
      access.kills = false;
    }
  }
}

bool is_read(const Function& function, const Operand& operand) {
  if (operand.kind != Operand::Kind::Register) {
    return std::ranges::any_of(operand.elements,
                               [&](const Operand& one) { return is_read(function, one); });
  }
  RegisterAccess access;
  return std::ranges::any_of(function.instructions, [&](const Instruction& instruction) {
    find_access(function, instruction, access);
    return std::ranges::find(access.reads, operand.index) != access.reads.end();
  });
}

}  // namespace cuco::ptx
