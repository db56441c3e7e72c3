// SPDX-License-Identifier: Apache-2.0
// Only arithmetic on registers is executed. What memory, other lanes and clocks give is unknown: an
// instruction that hands them something of the load's value ends the likeness of those lanes where
// it differs, and a branch on something unknown ends the search.
#include "vgpu/exec/what_if.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {
namespace {

using ptx::Opcode;

constexpr unsigned kMostSteps = 2048;  ///< Instructions that are looked at.
constexpr unsigned kReturnSteps = 64;  ///< The same once nothing depends on the value.

/// Results depend on registers alone.
bool is_arithmetic(const ptx::Instruction& in) {
  switch (in.opcode) {
    case Opcode::Abs:
    case Opcode::Add:
    case Opcode::And:
    case Opcode::Bfe:
    case Opcode::Bfi:
    case Opcode::Bfind:
    case Opcode::Bmsk:
    case Opcode::Brev:
    case Opcode::Clz:
    case Opcode::Cnot:
    case Opcode::Cvt:
    case Opcode::Cvta:
    case Opcode::Div:
    case Opcode::Fma:
    case Opcode::Lop3:
    case Opcode::Mad:
    case Opcode::Mad24:
    case Opcode::Max:
    case Opcode::Min:
    case Opcode::Mov:
    case Opcode::Mul:
    case Opcode::Mul24:
    case Opcode::Neg:
    case Opcode::Not:
    case Opcode::Or:
    case Opcode::Popc:
    case Opcode::Prmt:
    case Opcode::Rem:
    case Opcode::Sad:
    case Opcode::Selp:
    case Opcode::Set:
    case Opcode::Setp:
    case Opcode::Shf:
    case Opcode::Shl:
    case Opcode::Shr:
    case Opcode::Slct:
    case Opcode::Sub:
    case Opcode::Szext:
    case Opcode::Xor:
      break;
    default:
      return false;
  }
  if (in.has(ptx::Modifier::Cc)) return false;
  return std::ranges::none_of(in.operands, [](const ptx::Operand& operand) {
    return operand.kind == ptx::Operand::Kind::Special;
  });
}

/// A thread that does no more than this between two looks does nothing but wait.
bool is_idle(const ptx::Instruction& in) {
  switch (in.opcode) {
    case Opcode::Bra:
    case Opcode::Fence:
    case Opcode::Membar:
    case Opcode::Mov:
    case Opcode::Nanosleep:
      return true;
    case Opcode::Ld:
      return in.has(ptx::Modifier::Param) || in.has(ptx::Modifier::Const);
    default:
      return is_arithmetic(in);
  }
}

bool is_signed(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::S16 || type == ptx::Type::S32;
}

/// A value of `bytes` bytes as a register of a load's type holds it.
std::uint64_t extend(std::uint64_t value, std::uint32_t bytes, bool with_sign) {
  if (bytes >= 8) return value;
  const unsigned shift = 64 - 8 * bytes;
  const std::uint64_t high = value << shift;
  return with_sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >> shift)
                   : high >> shift;
}

}  // namespace

bool WhatIf::is_predicate(std::uint32_t reg) const {
  return function_->registers[reg].type == ptx::Type::Pred;
}

std::uint32_t WhatIf::slot_bytes(std::uint32_t reg) const {
  return std::max(4U, ptx::size_of(function_->registers[reg].type));
}

void WhatIf::begin(const Warp& warp, const Op& op, unsigned lane) {
  const Origin& origin = warp.kernel->origins[op.source];
  real_ = &warp;
  lane_ = lane;
  function_ = origin.function;
  load_ = origin.instruction;
  const auto& functions = warp.kernel->functions;
  const auto code = std::ranges::find(functions, function_, &FunctionCode::function);
  CUCO_ASSERT(code != functions.end());
  code_ = &*code;
  if (registers_.size() < code_->register_bytes) registers_.resize(code_->register_bytes);
  if (predicates_.size() < code_->predicates) predicates_.resize(code_->predicates);
  predicates_[0] = kFullMask;
  for (const std::uint32_t reg : present_) {
    if (reg < is_present_.size()) is_present_[reg] = is_unknown_[reg] = false;
  }
  present_.clear();
  tainted_.clear();
  if (is_present_.size() < function_->registers.size()) {
    is_present_.resize(function_->registers.size());
    is_unknown_.resize(function_->registers.size());
  }
  scratch_.bank = {registers_.data(), warp.bank[1]};
  scratch_.predicates = predicates_.data();
  scratch_.kernel = warp.kernel;
  scratch_.grid = warp.grid;
  scratch_.block = warp.block;
  scratch_.mask = kFullMask;
}

void WhatIf::fetch(std::uint32_t reg) {
  if (is_present_[reg]) return;
  is_present_[reg] = true;
  present_.push_back(reg);
  const Ref ref = place_of(reg);
  if (is_predicate(reg)) {
    predicates_[ref] = (real_->predicates[ref] >> lane_ & 1U) != 0 ? kFullMask : 0;
    return;
  }
  if ((ref & kConstantBit) != 0) return;
  const std::uint32_t bytes = slot_bytes(reg);
  const std::byte* from = real_->bank[0] + ref + std::size_t{lane_} * bytes;
  for (unsigned l = 0; l < kLanes; ++l)
    std::memcpy(registers_.data() + ref + std::size_t{l} * bytes, from, bytes);
}

bool WhatIf::put_values(std::uint64_t value, std::span<const std::uint64_t> others) {
  if (load_->operands.empty() || load_->types.empty() ||
      load_->operands[0].kind != ptx::Operand::Kind::Register) {
    return false;  // several values at once, or none that anybody sees
  }
  const std::uint32_t reg = load_->operands[0].index;
  if (is_predicate(reg)) return false;
  fetch(reg);
  const Ref ref = place_of(reg);
  const std::uint32_t bytes = slot_bytes(reg);
  const std::uint32_t size = ptx::size_of(load_->types.back());
  if ((ref & kConstantBit) != 0 || bytes > 8 || size > 8) return false;
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint64_t raw = l == 0 || l > others.size() ? value : others[l - 1];
    const std::uint64_t seen = extend(raw, size, is_signed(load_->types.back()));
    std::memcpy(registers_.data() + ref + std::size_t{l} * bytes, &seen, bytes);
  }
  tainted_.push_back(reg);
  return true;
}

std::uint32_t WhatIf::differing(std::uint32_t reg) const {
  const Ref ref = place_of(reg);
  if (is_predicate(reg)) {
    const std::uint32_t bits = predicates_[ref];
    return (bits & 1U) != 0 ? ~bits : bits;
  }
  if ((ref & kConstantBit) != 0) return 0;
  const std::uint32_t bytes = slot_bytes(reg);
  const std::byte* first = registers_.data() + ref;
  std::uint32_t lanes = 0;
  for (unsigned l = 1; l < kLanes; ++l) {
    if (std::memcmp(first, first + std::size_t{l} * bytes, bytes) != 0) lanes |= 1U << l;
  }
  return lanes;
}

bool WhatIf::is_tainted(std::uint32_t reg) const {
  return std::ranges::find(tainted_, reg) != tainted_.end();
}

void WhatIf::forget_dead(std::uint32_t instruction) {
  std::erase_if(tainted_, [&](std::uint32_t reg) {
    const ptx::LiveInterval& live = code_->live[reg];
    return instruction < live.first || instruction > live.last;
  });
}

bool WhatIf::reads_unknown() const {
  return std::ranges::any_of(access_.reads, [&](std::uint32_t reg) { return is_unknown_[reg]; });
}

// What the thread reads next is most likely there now.
bool WhatIf::peek(const ptx::Instruction& in) {
  using Kind = ptx::Operand::Kind;
  if (in.opcode != Opcode::Ld || in.guarded || in.operands.size() != 2 || in.types.empty() ||
      in.operands[0].kind != Kind::Register || in.operands[1].kind != Kind::Address) {
    return false;
  }
  const ptx::Operand& address = in.operands[1];
  const ptx::Space space = Lowering::memory_aux(in).space;
  if ((space != ptx::Space::Global && space != ptx::Space::Generic) ||
      address.elements.size() != 1 || address.elements[0].kind != Kind::Register) {
    return false;
  }
  const std::uint32_t base = address.elements[0].index;
  const std::uint32_t to = in.operands[0].index;
  const std::uint32_t size = ptx::size_of(in.types.back());
  if (slot_bytes(base) != 8 || slot_bytes(to) > 8 || size > 8 || is_predicate(to)) return false;
  fetch(base);
  fetch(to);
  if ((place_of(to) & kConstantBit) != 0) return false;
  const Address at =
      scratch_.slots<std::uint64_t>(place_of(base))[0] + static_cast<std::uint64_t>(address.value);
  if (!is_mapped_region(at) || !real_->memory->valid(at, size)) return false;
  std::uint64_t raw = 0;
  std::memcpy(&raw, Memory::at(at), size);
  const std::uint64_t seen = extend(raw, size, is_signed(in.types.back()));
  const std::uint32_t bytes = slot_bytes(to);
  for (unsigned l = 0; l < kLanes; ++l)
    std::memcpy(registers_.data() + place_of(to) + std::size_t{l} * bytes, &seen, bytes);
  return true;
}

void WhatIf::execute(const Op* first, const Op* end) {
  for (const Op* op = first; op != end; ++op) {
    if (op->run == exec_nothing) continue;
    std::uint32_t active = kFullMask;
    if ((op->flags & Op::Guarded) != 0) {
      const std::uint32_t guard = predicates_[op->guard];
      active = (op->flags & Op::GuardNegated) != 0 ? ~guard : guard;
    }
    if (active == 0) continue;
    scratch_.active = active;
    scratch_.ip = op + 1;
    op->run(scratch_, *op);
  }
}

WhatIf::Step WhatIf::branch(const ptx::Instruction& in, const Op* op, const Op*& next) {
  // All lanes that go on go where lane 0 goes.
  bool taken = true;
  if (in.guarded) {
    if (is_unknown_[in.guard]) return Step::Stop;
    fetch(in.guard);
    lanes_ &= ~differing(in.guard);
    taken = ((predicates_[place_of(in.guard)] & 1U) != 0) != in.guard_negated;
  }
  if (!taken) return Step::Next;
  const Kernel& kernel = *real_->kernel;
  if (in.opcode == Opcode::Bra) {
    next = kernel.ops.data() + op->imm;
    return Step::Jump;
  }
  if (in.opcode != Opcode::Brx || in.operands[0].kind != ptx::Operand::Kind::Register) {
    tainted_.clear();  // The thread, or the function, ends.
    return Step::Stop;
  }
  const std::uint32_t reg = in.operands[0].index;
  if (is_unknown_[reg]) return Step::Stop;
  fetch(reg);
  lanes_ &= ~differing(reg);
  const auto& table = kernel.jump_tables[op->aux];
  const std::uint32_t index = scratch_.slots<std::uint32_t>(op->a)[0];
  if (index >= table.size()) return Step::Stop;
  next = kernel.ops.data() + table[index];
  return Step::Jump;
}

WhatIf::Step WhatIf::step(const ptx::Instruction& in, const Op* first, const Op*& next) {
  switch (in.opcode) {
    case Opcode::Bra:
    case Opcode::Brx:
    case Opcode::Exit:
    case Opcode::Ret:
    case Opcode::Trap:
    case Opcode::Unknown:  // runs off the end
      return branch(in, first, next);
    default:
      break;
  }
  ptx::find_access(*function_, in, access_);
  const bool depends =
      std::ranges::any_of(access_.reads, [&](std::uint32_t reg) { return is_tainted(reg); });
  const bool known = is_arithmetic(in) && !reads_unknown();
  if (!known && depends) {
    for (const std::uint32_t reg : access_.reads) {
      if (is_tainted(reg) && !is_unknown_[reg]) lanes_ &= ~differing(reg);
    }
    // What is computed of it and of something unknown could be anything.
    if (is_arithmetic(in)) lanes_ &= 1U;
  }
  const bool peeked = !known && !depends && !reads_unknown() && peek(in);
  if (known) {
    for (const std::uint32_t reg : access_.reads)
      fetch(reg);
    for (const std::uint32_t reg : access_.writes)
      fetch(reg);
    execute(first, next);
  }
  for (const std::uint32_t reg : access_.writes) {
    if (!is_present_[reg]) {
      is_present_[reg] = true;
      present_.push_back(reg);
    }
    is_unknown_[reg] = !known && !peeked;
    if (known && depends) {
      if (!is_tainted(reg)) tainted_.push_back(reg);
    } else if (access_.kills || !known) {
      std::erase(tainted_, reg);
    }
  }
  return Step::Next;
}

std::optional<std::uint64_t> WhatIf::operand(std::size_t index, std::uint32_t bytes) {
  using Kind = ptx::Operand::Kind;
  if (index >= load_->operands.size()) return std::nullopt;
  const ptx::Operand& from = load_->operands[index];
  if (from.negated || from.part != ptx::Part::Whole) return std::nullopt;
  if (from.kind == Kind::Integer) {
    return extend(static_cast<std::uint64_t>(from.value), bytes, false);
  }
  if (from.kind != Kind::Register || is_predicate(from.index)) return std::nullopt;
  if (slot_bytes(from.index) > 8) return std::nullopt;
  fetch(from.index);
  // All lanes have it.
  const Ref ref = place_of(from.index);
  const std::uint64_t value = slot_bytes(from.index) == 8 ? scratch_.slots<std::uint64_t>(ref)[0]
                                                          : scratch_.slots<std::uint32_t>(ref)[0];
  return extend(value, bytes, false);
}

bool WhatIf::leaves_values(const Warp& warp, const Op& op, unsigned lane) {
  using M = ptx::Modifier;
  begin(warp, op, lane);
  const ptx::Instruction& in = *load_;
  if (in.opcode != Opcode::Atom || in.types.empty()) return false;
  const ptx::Type type = in.types.back();
  const std::uint32_t bytes = ptx::size_of(type);
  if (bytes != 4 && bytes != 8) return false;
  const auto value = operand(2, bytes);
  if (!value) return false;
  if (in.has(M::Cas)) return value == operand(3, bytes);
  const std::uint64_t ones = bytes == 8 ? ~std::uint64_t{0} : 0xFFFF'FFFFU;
  const bool is_unsigned = type == ptx::Type::U32 || type == ptx::Type::U64;
  const bool is_signed_whole = type == ptx::Type::S32 || type == ptx::Type::S64;
  const std::uint64_t greatest = ones >> 1U;
  if (in.has(M::And)) return *value == ones;
  if (in.has(M::Or) || in.has(M::Xor)) return *value == 0;
  if (in.has(M::Add)) return *value == 0 && (is_unsigned || is_signed_whole);
  if (in.has(M::Max))
    return is_unsigned ? *value == 0 : is_signed_whole && *value == ones - greatest;
  if (in.has(M::Min)) return is_unsigned ? *value == ones : is_signed_whole && *value == greatest;
  return false;
}

WhatIf::Answer WhatIf::ask(const Warp& warp,
                           const Op& op,
                           unsigned lane,
                           std::uint64_t value,
                           std::span<const std::uint64_t> others) {
  CUCO_ASSERT(others.size() <= kMostOthers);
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << (others.size() + 1)) - 1);
  begin(warp, op, lane);
  lanes_ = all;
  Answer answer;
  const bool has_result = load_->opcode != Opcode::Red && load_->operands.size() > 1 &&
                          load_->operands[0].kind != ptx::Operand::Kind::Address;
  if (has_result && !put_values(value, others)) {
    // `_`: nobody looks at it.
    const bool unwanted =
        !load_->operands.empty() && load_->operands[0].kind == ptx::Operand::Kind::None;
    answer.same = answer.equal = unwanted ? all >> 1U : 0;
    return answer;
  }
  const Op* const begin = warp.kernel->ops.data();
  const Op* const end = begin + warp.kernel->ops.size();
  const auto instruction_of = [&](const Op* at) {
    return warp.kernel->origins[at->source].instruction;
  };
  const Op* at = &op + 1;
  std::uint32_t accepted = 0;
  unsigned free_steps = 0;
  bool waits = true;
  // The same place again: nothing that its address is made of has changed.
  const auto reads_the_same = [&] {
    ptx::find_access(*function_, *load_, access_);
    return std::ranges::none_of(access_.reads, [&](std::uint32_t reg) -> bool {
      const Ref ref = place_of(reg);
      if (!is_present_[reg] || is_predicate(reg) || (ref & kConstantBit) != 0) {
        return is_unknown_[reg];
      }
      const std::uint32_t bytes = slot_bytes(reg);
      return is_unknown_[reg] ||
             std::memcmp(registers_.data() + ref, real_->bank[0] + ref + std::size_t{lane_} * bytes,
                         bytes) != 0;
    });
  };
  for (unsigned steps = 0; steps < kMostSteps && at < end; ++steps) {
    const ptx::Instruction* in = instruction_of(at);
    if (in->opcode != Opcode::Unknown) {
      forget_dead(static_cast<std::uint32_t>(in - function_->instructions.data()));
    }
    if (in == load_) {
      if (at > &op) {  // The rest of the same instruction.
        ++at;
        continue;
      }
      // Its result is written anew; what else depends on it would be kept.
      if (has_result) std::erase(tainted_, load_->operands[0].index);
      answer.is_poll = has_result && waits && tainted_.empty() && reads_the_same();
      break;
    }
    if (tainted_.empty() && ++free_steps > kReturnSteps) break;
    const Op* next = at;
    while (next < end && instruction_of(next) == in)
      ++next;
    waits = waits && is_idle(*in);
    const Step done = step(*in, at, next);
    if (done == Step::Stop) break;
    at = next;
    if ((lanes_ & ~1U) == 0 && !others.empty()) break;
  }
  if (tainted_.empty()) accepted = lanes_;
  answer.same = accepted >> 1U;
  for (const std::uint32_t reg : tainted_)
    lanes_ &= ~differing(reg);
  answer.equal = lanes_ >> 1U;
  return answer;
}

}  // namespace cuco::vgpu
