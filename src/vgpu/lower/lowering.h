// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a PTX instruction to lowered ops: what a family's lower_*.cc uses.
///
/// A family is a function `bool lower_x(Lowering&, const ptx::Instruction&)`. It returns false for
/// what it does not know; then the instruction becomes an op that traps when executed. Operand
/// functions check register widths, so handlers may trust them; when one fails, `ok()` turns false
/// and the same happens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "vgpu/lower/code.h"
#include "vgpu/lower/op.h"
#include "vgpu/lower/program.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

inline constexpr Ref kScratch = 0;        ///< Register that takes unwanted results.
inline constexpr Ref kTruePredicate = 0;  ///< Always all ones.
inline constexpr Ref kScratchPredicate = 1;

class KernelBuilder;

/// A lowered memory operand.
struct MemoryOperand {
  Ref base = kScratch;
  std::uint64_t offset = 0;
  MemoryAux aux;
  void apply(Op& op) const {
    op.a = base;
    op.imm = offset;
    op.aux = aux.pack();
  }
};

class Lowering {
 public:
  Lowering(KernelBuilder& builder, const ptx::Function& function);

  /// Appends an op with the instruction's guard and origin. The reference dies at the next emit.
  Op& emit(Handler handler, CostClass cost);

  /// A source operand read as `type`: register (its slot width must fit), immediate, address of a
  /// symbol, special register (through a temporary).
  Ref source(const ptx::Operand& operand, ptx::Type type);
  /// A destination register written as `type`; `_` becomes scratch.
  Ref destination(const ptx::Operand& operand, ptx::Type type);
  /// Source predicate (a negated one has the top bit); predicate destination.
  Ref source_predicate(const ptx::Operand& operand);
  Ref predicate_destination(const ptx::Operand& operand);
  /// An immediate of 4 or 8 bytes broadcast to 32 lanes; equal ones are shared.
  Ref constant32(std::uint32_t value);
  Ref constant64(std::uint64_t value);
  /// A fresh register of 4, 8 or 16 bytes per lane.
  Ref temporary(std::uint32_t bytes);
  /// Stores refs side by side in Kernel::refs, for Op::list.
  std::uint32_t list(std::span<const Ref> refs);

  /// Bytes of a register's lane slot: 4, 8, 16; 0 if the operand is not a data register.
  [[nodiscard]] std::uint32_t slot_bytes(const ptx::Operand& operand) const;
  [[nodiscard]] static std::uint32_t slot_bytes(ptx::Type type);

  /// The address operand with space, order, scope, width and vector length from the modifiers.
  /// Call it before emit (it may emit an op of its own), then apply it to the op.
  MemoryOperand memory_operand(const ptx::Operand& address, ptx::Type type);
  /// The modifiers alone.
  [[nodiscard]] static MemoryAux memory_aux(const ptx::Instruction& instruction);

  /// Gives up on this instruction; `why` goes into the trap's message.
  void fail(std::string why);
  [[nodiscard]] bool ok() const { return !failure_; }

  [[nodiscard]] const ptx::Function& function() const { return function_; }
  [[nodiscard]] KernelBuilder& builder() { return builder_; }
  [[nodiscard]] const ptx::Instruction& instruction() const { return *instruction_; }
  /// In function().instructions.
  [[nodiscard]] std::uint32_t instruction_index() const {
    return static_cast<std::uint32_t>(instruction_ - function_.instructions.data());
  }

 private:
  friend class KernelBuilder;
  Ref immediate(const ptx::Operand& operand, ptx::Type type);
  Ref special(ptx::SpecialRegister special, ptx::Type type);

  KernelBuilder& builder_;
  const ptx::Function& function_;
  const ptx::Instruction* instruction_ = nullptr;
  std::optional<std::string> failure_;
};

using LowerFunction = bool (*)(Lowering&, const ptx::Instruction&);

// The families, each beside its handlers. lower_table.cc says who gets which opcode.
bool lower_integer(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_logic(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_carry(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_float(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_compare(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_move(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_memory(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_control(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_call(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_barrier(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_convert(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_convert_packed(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_half(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_special(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_atomic(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_warp(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_matrix(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_mma(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_wmma(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_async(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_multimem(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_video(Lowering& lowering, const ptx::Instruction& instruction);
bool lower_hint(Lowering& lowering, const ptx::Instruction& instruction);

}  // namespace cuco::vgpu
