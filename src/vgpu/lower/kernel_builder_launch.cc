// SPDX-License-Identifier: Apache-2.0
// Kernels begin with loading their arguments and copying them about. What a register gets from
// there is the same in every warp of a launch, so the launch writes it into its pool of constants,
// and who reads the register reads the pool. The instructions stay, for the counts and the time
// model, but have nothing left to do.
#include <algorithm>

#include "ptx/flow/register_access.h"
#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/lower/kernel_builder.h"

namespace cuco::vgpu {

namespace {

using Kind = ptx::Operand::Kind;
using SR = ptx::SpecialRegister;

/// The value of a special register that a launch decides.
std::optional<std::uint32_t> launch_special(SR special, const LaunchRequest& request) {
  switch (special) {
    case SR::NtidX:
      return request.block[0];
    case SR::NtidY:
      return request.block[1];
    case SR::NtidZ:
      return request.block[2];
    case SR::NctaidX:
      return request.grid[0];
    case SR::NctaidY:
      return request.grid[1];
    case SR::NctaidZ:
      return request.grid[2];
    default:
      return std::nullopt;
  }
}

/// A conversion of addresses that changes nothing.
bool is_copy(const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::Mov) return true;
  return in.opcode == ptx::Opcode::Cvta && Lowering::memory_aux(in).space == ptx::Space::Global;
}

}  // namespace

Ref KernelBuilder::add_launch_value(LaunchValue value) {
  for (const LaunchValue& known : kernel_->launch_values) {
    if (known.bytes == value.bytes && known.is_argument == value.is_argument &&
        known.special == value.special && known.offset == value.offset) {
      return known.place | kConstantBit;
    }
  }
  AlignedBytes& data = kernel_->constants;
  value.place = static_cast<std::uint32_t>(data.size());
  data.resize(data.size() + std::size_t{value.bytes} * kLanes);
  kernel_->launch_values.push_back(value);
  return value.place | kConstantBit;
}

std::optional<Ref> KernelBuilder::launch_value(const ptx::Function& function,
                                               const ptx::Instruction& in) {
  const std::uint32_t bytes = Lowering::slot_bytes(function.registers[in.operands[0].index].type);
  if ((bytes != 4 && bytes != 8) || in.types.empty() || ptx::size_of(in.types[0]) != bytes) {
    return std::nullopt;
  }
  const ptx::Operand& from = in.operands[1];
  if (in.opcode == ptx::Opcode::Ld) {
    const MemoryAux aux = Lowering::memory_aux(in);
    if (aux.space != ptx::Space::Param || aux.vector != 1 || from.kind != Kind::Address ||
        from.elements.size() != 1) {
      return std::nullopt;
    }
    const Place place = place_of(from.elements[0]);
    const std::uint64_t offset = place.value + static_cast<std::uint64_t>(from.value);
    if (place.kind != Place::Kind::Parameter || offset % bytes != 0 ||
        offset + bytes > kernel_->info.argument_bytes) {
      return std::nullopt;
    }
    return add_launch_value(
        {.bytes = static_cast<std::uint8_t>(bytes), .offset = static_cast<std::uint32_t>(offset)});
  }
  if (!is_copy(in) || from.negated) return std::nullopt;
  if (from.kind == Kind::Special && bytes == 4 && launch_special(from.special, {})) {
    return add_launch_value({.is_argument = false, .special = from.special});
  }
  if (from.kind != Kind::Register || from.index >= registers_.size() ||
      Lowering::slot_bytes(function.registers[from.index].type) != bytes) {
    return std::nullopt;
  }
  const Ref source = registers_[from.index];
  return (source & kConstantBit) != 0 ? std::optional(source) : std::nullopt;
}

void KernelBuilder::find_launch_values(const ptx::Function& function) {
  is_settled_.assign(function.instructions.size(), false);
  if (!function.is_entry) return;
  std::vector<std::uint32_t> writes(function.registers.size(), 0);
  ptx::RegisterAccess access;
  for (const ptx::Instruction& in : function.instructions) {
    ptx::find_access(function, in, access);
    for (const std::uint32_t reg : access.writes)
      ++writes[reg];
  }
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& in = function.instructions[i];
    if (in.guarded || in.operands.size() != 2 || in.operands[0].kind != Kind::Register) continue;
    const std::uint32_t reg = in.operands[0].index;
    if (reg >= writes.size() || writes[reg] != 1) continue;
    const std::optional<Ref> value = launch_value(function, in);
    if (!value) continue;
    registers_[reg] = *value;
    is_settled_[i] = true;
  }
}

AlignedBytes launch_constants(const Kernel& kernel, const LaunchRequest& request) {
  AlignedBytes pool = kernel.constants;
  for (const LaunchValue& value : kernel.launch_values) {
    const std::uint32_t special =
        value.is_argument ? 0 : launch_special(value.special, request).value_or(0);
    const std::byte* from = value.is_argument ? request.arguments.data() + value.offset
                                              : reinterpret_cast<const std::byte*>(&special);
    for (unsigned l = 0; l < kLanes; ++l)
      std::copy_n(from, value.bytes, pool.data() + value.place + l * value.bytes);
  }
  return pool;
}

void exec_nothing(Warp& w, const Op& op) {
  // With all lanes here nobody waits in between to be joined.
  if (w.active == kFullMask) w.ip += op.imm;
}

void join_settled(std::span<Op> ops) {
  std::uint64_t run = 0;
  for (std::size_t i = ops.size(); i-- > 0;) {
    const bool settled = ops[i].run == exec_nothing && ops[i].flags == 0;
    if (settled) ops[i].imm = run;
    run = settled ? run + 1 : 0;
  }
}

}  // namespace cuco::vgpu
