// SPDX-License-Identifier: Apache-2.0
/// \file
/// What would a thread have done, had a load given it another value?
///
/// The code behind the load is run once more, on registers of its own, with the value that was read
/// in one lane and others in the rest. A value makes no difference if the thread goes the same way
/// until nothing that depends on it is wanted any more. This is how the checker knows what a wait
/// demands: whatever the loop around a load compares, and however it computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "ptx/flow/register_access.h"
#include "vgpu/gpu/warp.h"

namespace cuco::vgpu {

class WhatIf {
 public:
  static constexpr std::size_t kMostOthers = kLanes - 1;

  struct Answer {
    /// The thread comes back to the load, and keeps nothing of what it read: it polls.
    bool is_poll = false;
    /// Bit i: with others[i] it would have gone the same way.
    std::uint32_t same = 0;
    /// Bit i: and what it made of the value, and still wants, would have been the same.
    std::uint32_t equal = 0;
  };

  /// `op` is a load, or an atomic operation, of `lane`; `value` is what memory held. At most
  /// kMostOthers of them.
  [[nodiscard]] Answer ask(const Warp& warp,
                           const Op& op,
                           unsigned lane,
                           std::uint64_t value,
                           std::span<const std::uint64_t> others);
  /// Does the lane's atomic operation leave every value as it is: atomicOr(p, 0), atomicMax of an
  /// unsigned number with 0, atomicCAS(p, 1, 1)? It is a read then.
  [[nodiscard]] bool leaves_values(const Warp& warp, const Op& op, unsigned lane);

 private:
  /// An operand of the instruction at hand, as an integer of `bytes` bytes.
  [[nodiscard]] std::optional<std::uint64_t> operand(std::size_t index, std::uint32_t bytes);
  enum class Step : std::uint8_t { Next, Jump, Stop };

  void begin(const Warp& warp, const Op& op, unsigned lane);
  bool put_values(std::uint64_t value, std::span<const std::uint64_t> others);
  /// The lane's register in all lanes, unless it is there already.
  void fetch(std::uint32_t reg);
  [[nodiscard]] Ref place_of(std::uint32_t reg) const { return code_->registers[reg]; }
  [[nodiscard]] bool is_predicate(std::uint32_t reg) const;
  [[nodiscard]] std::uint32_t slot_bytes(std::uint32_t reg) const;
  /// Lanes in which the register differs from lane 0's.
  [[nodiscard]] std::uint32_t differing(std::uint32_t reg) const;
  [[nodiscard]] bool is_tainted(std::uint32_t reg) const;
  void forget_dead(std::uint32_t instruction);
  [[nodiscard]] bool reads_unknown() const;
  /// Runs one instruction, or accounts for it; `next` is where lane 0 goes.
  Step step(const ptx::Instruction& in, const Op* first, const Op*& next);
  Step branch(const ptx::Instruction& in, const Op* op, const Op*& next);
  /// True: the load's result is in the register, as far as it can be foreseen.
  bool peek(const ptx::Instruction& in);
  void execute(const Op* first, const Op* end);

  const Warp* real_ = nullptr;
  const FunctionCode* code_ = nullptr;
  const ptx::Function* function_ = nullptr;
  const ptx::Instruction* load_ = nullptr;
  unsigned lane_ = 0;
  Warp scratch_;
  AlignedBytes registers_;
  std::vector<std::uint32_t> predicates_;
  std::vector<std::uint32_t> present_;  ///< Registers that are in the scratch file…
  std::vector<bool> is_present_;
  std::vector<bool> is_unknown_;        ///< …those whose value nobody knows,…
  std::vector<std::uint32_t> tainted_;  ///< …and those that depend on the load and are wanted.
  ptx::RegisterAccess access_;
  std::uint32_t lanes_ = 0;  ///< Still on lane 0's way.
};

}  // namespace cuco::vgpu
