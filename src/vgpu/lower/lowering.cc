// SPDX-License-Identifier: Apache-2.0
#include "vgpu/lower/lowering.h"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "vgpu/lower/kernel_builder.h"

namespace cuco::vgpu {

using Kind = ptx::Operand::Kind;

Lowering::Lowering(KernelBuilder& builder, const ptx::Function& function)
    : builder_(builder), function_(function) {}

Op& Lowering::emit(Handler handler, CostClass cost) {
  Kernel& kernel = builder_.kernel();
  Op op;
  op.run = handler;
  op.cost = cost;
  op.source = static_cast<std::uint32_t>(kernel.origins.size());
  if (instruction_->guarded) {
    op.flags = Op::Guarded;
    if (instruction_->guard_negated) op.flags |= Op::GuardNegated;
    if (instruction_->guard < function_.registers.size() &&
        function_.registers[instruction_->guard].type == ptx::Type::Pred) {
      op.guard = static_cast<std::uint16_t>(builder_.register_ref(instruction_->guard));
    } else {
      fail("the guard is not a predicate");
    }
  }
  kernel.origins.push_back({instruction_, &function_});
  kernel.ops.push_back(op);
  return kernel.ops.back();
}

void Lowering::fail(std::string why) {
  if (!failure_) failure_ = std::move(why);
}

std::uint32_t Lowering::slot_bytes(ptx::Type type) {
  if (type == ptx::Type::Pred || type == ptx::Type::None) return 0;
  const std::uint32_t bytes = ptx::size_of(type);
  return bytes <= 4 ? 4 : bytes;
}

std::uint32_t Lowering::slot_bytes(const ptx::Operand& operand) const {
  if (operand.kind != Kind::Register || operand.index >= function_.registers.size()) return 0;
  return slot_bytes(function_.registers[operand.index].type);
}

Ref Lowering::constant32(std::uint32_t value) {
  return builder_.constant(value, 4);
}
Ref Lowering::constant64(std::uint64_t value) {
  return builder_.constant(value, 8);
}
Ref Lowering::temporary(std::uint32_t bytes) {
  return builder_.add_register(bytes);
}

std::uint32_t Lowering::list(std::span<const Ref> refs) {
  auto& all = builder_.kernel().refs;
  const auto start = static_cast<std::uint32_t>(all.size());
  all.insert(all.end(), refs.begin(), refs.end());
  return start;
}

Ref Lowering::immediate(const ptx::Operand& operand, ptx::Type type) {
  const std::uint32_t bytes = slot_bytes(type);
  auto bits = static_cast<std::uint64_t>(operand.value);
  if (operand.kind == Kind::Float) {
    if (type == ptx::Type::F64 || (bytes == 8 && !operand.is_f32)) {
      if (operand.is_f32) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
      }
    } else if (!operand.is_f32) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    }
    if (operand.negated) bits ^= bytes == 8 ? std::uint64_t{1} << 63U : std::uint64_t{1} << 31U;
  } else if (operand.negated) {
    bits = 0 - bits;
  }
  if (bytes == 8) return constant64(bits);
  if (bytes == 4) return constant32(static_cast<std::uint32_t>(bits));
  fail("immediate of this width");
  return kScratch;
}

Ref Lowering::special(ptx::SpecialRegister special, ptx::Type type) {
  const std::uint32_t bytes = slot_bytes(type);
  const Handler handler = special_register_handler(special, bytes);
  if (handler == nullptr) {
    fail(std::string(ptx::spelling(special)));
    return kScratch;
  }
  const Ref ref = temporary(bytes);
  emit(handler, CostClass::Move).dst = ref;
  return ref;
}

Ref Lowering::source(const ptx::Operand& operand, ptx::Type type) {
  const std::uint32_t bytes = slot_bytes(type);
  switch (operand.kind) {
    case Kind::Register:
      if (slot_bytes(operand) != bytes || bytes == 0) {
        fail("operand has the wrong width");
        return kScratch;
      }
      return builder_.register_ref(operand.index);
    case Kind::Integer:
    case Kind::Float:
      return immediate(operand, type);
    case Kind::Special:
      return special(operand.special, type);
    case Kind::Symbol:
    case Kind::Local: {
      const Place place = builder_.place_of(operand);
      if (place.kind == Place::Kind::Fixed || place.kind == Place::Kind::Parameter) {
        return builder_.constant(place.value, bytes == 4 ? 4 : 8);
      }
      if (place.kind == Place::Kind::Frame && (bytes == 8 || bytes == 4)) {
        const Ref ref = temporary(8);
        Op& op = emit(exec_frame_address, CostClass::Move);
        op.dst = ref;
        op.imm = place.value;
        op.aux = bytes;
        return ref;
      }
      fail("unresolved symbol");
      return kScratch;
    }
    default:
      fail("unexpected operand");
      return kScratch;
  }
}

Ref Lowering::destination(const ptx::Operand& operand, ptx::Type type) {
  if (operand.kind == Kind::None) return kScratch;
  if (slot_bytes(operand) != slot_bytes(type) || slot_bytes(type) == 0) {
    fail("destination has the wrong width");
    return kScratch;
  }
  return builder_.register_ref(operand.index);
}

Ref Lowering::source_predicate(const ptx::Operand& operand) {
  const Ref negated = operand.negated ? kConstantBit : 0;
  if (operand.kind == Kind::Integer) {
    return (operand.value != 0 ? kTruePredicate : kTruePredicate | kConstantBit) ^ negated;
  }
  if (operand.kind != Kind::Register || operand.index >= function_.registers.size() ||
      function_.registers[operand.index].type != ptx::Type::Pred) {
    fail("operand is not a predicate");
    return kTruePredicate;
  }
  return builder_.register_ref(operand.index) | negated;
}

Ref Lowering::predicate_destination(const ptx::Operand& operand) {
  if (operand.kind == Kind::None) return kScratchPredicate;
  const Ref ref = source_predicate(operand);
  if (operand.kind != Kind::Register || (ref & kConstantBit) != 0) {
    fail("destination is not a predicate");
    return kScratchPredicate;
  }
  return ref;
}

MemoryAux Lowering::memory_aux(const ptx::Instruction& instruction) {
  using M = ptx::Modifier;
  MemoryAux aux;
  for (const M modifier : instruction.modifiers) {
    switch (modifier) {
      case M::Const:
        aux.space = ptx::Space::Const;
        break;
      case M::Global:
        aux.space = ptx::Space::Global;
        break;
      case M::Local:
        aux.space = ptx::Space::Local;
        break;
      case M::Param:
      case M::ParamEntry:
      case M::ParamFunc:
        aux.space = ptx::Space::Param;
        break;
      case M::Shared:
      case M::SharedCta:
      case M::SharedCluster:
        aux.space = ptx::Space::Shared;
        break;
      case M::Volatile:
        aux.order = Order::Volatile;
        break;
      case M::Relaxed:
        if (aux.order != Order::Mmio) aux.order = Order::Relaxed;
        break;
      case M::Acquire:
        aux.order = Order::Acquire;
        break;
      case M::Release:
        aux.order = Order::Release;
        break;
      case M::AcqRel:
        aux.order = Order::AcqRel;
        break;
      case M::Sc:
        aux.order = Order::Sc;
        break;
      case M::Mmio:
        aux.order = Order::Mmio;
        break;
      case M::Cta:
        aux.scope = Scope::Cta;
        break;
      case M::Cluster:
        aux.scope = Scope::Cluster;
        break;
      case M::Gpu:
        aux.scope = Scope::Gpu;
        break;
      case M::Sys:
        aux.scope = Scope::Sys;
        break;
      case M::V2:
        aux.vector = 2;
        break;
      case M::V4:
        aux.vector = 4;
        break;
      case M::V8:
        aux.vector = 8;
        break;
      case M::Cg:
      case M::Cv:
      case M::Wt:
      case M::L1NoAllocate:
        aux.no_l1 = true;
        break;
      default:
        break;
    }
  }
  return aux;
}

MemoryOperand Lowering::memory_operand(const ptx::Operand& address, ptx::Type type) {
  MemoryOperand out;
  out.aux = memory_aux(*instruction_);
  out.aux.bytes = static_cast<std::uint8_t>(ptx::size_of(type));
  if (address.kind != Kind::Address || address.elements.size() != 1) {
    fail("not an address");
    return out;
  }
  const ptx::Operand& base = address.elements[0];
  out.offset = static_cast<std::uint64_t>(address.value);
  if (base.kind == Kind::Register) {
    const std::uint32_t bytes = slot_bytes(base);
    out.aux.narrow = bytes == 4;
    if (bytes == 4 || bytes == 8) {
      out.base = builder_.register_ref(base.index);
    } else {
      fail("address has the wrong width");
    }
    return out;
  }
  if (base.kind == Kind::Integer) {
    out.base = constant64(static_cast<std::uint64_t>(base.value));
    return out;
  }
  const Place place = builder_.place_of(base);
  switch (place.kind) {
    case Place::Kind::Unknown:
      fail("unresolved symbol");
      break;
    case Place::Kind::Frame: {
      out.aux.space = ptx::Space::Local;
      if (instruction_->has(ptx::Modifier::Param)) out.aux.user = kInRegisters;
      out.base = temporary(8);
      Op& frame = emit(exec_frame_address, CostClass::Move);
      frame.dst = out.base;
      frame.imm = place.value;
      frame.aux = 8;
      break;
    }
    case Place::Kind::Parameter:
      out.aux.space = ptx::Space::Param;
      out.base = constant64(place.value);
      break;
    case Place::Kind::Fixed:
      if (out.aux.space == ptx::Space::Generic) out.aux.space = place.space;
      out.base = constant64(place.value);
      break;
  }
  return out;
}

}  // namespace cuco::vgpu
