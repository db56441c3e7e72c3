// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds a Kernel: the closure of functions an entry can reach, lowered one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/flow/liveness.h"
#include "ptx/flow/register_access.h"
#include "ptx/module.h"
#include "vgpu/lower/code.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/lower/program.h"

namespace cuco::vgpu {

/// What the address of a variable is.
struct Place {
  enum class Kind : std::uint8_t {
    Fixed,      ///< value is the address (device memory, shared offset, code address).
    Frame,      ///< value is an offset in the thread's current frame of local memory.
    Parameter,  ///< value is an offset in the kernel's arguments.
    Unknown,
  };
  Kind kind = Kind::Unknown;
  ptx::Space space = ptx::Space::Global;
  std::uint64_t value = 0;
};

class KernelBuilder {
 public:
  KernelBuilder(const Program& program, const ptx::Module& module)
      : program_(program), module_(module) {}
  [[nodiscard]] std::unique_ptr<Kernel> build(std::uint32_t entry);

  // For Lowering and the families.
  [[nodiscard]] Kernel& kernel() { return *kernel_; }
  [[nodiscard]] const ptx::Module& module() const { return module_; }
  [[nodiscard]] Ref register_ref(std::uint32_t index) const { return registers_[index]; }
  Ref constant(std::uint64_t value, std::uint32_t bytes);
  Ref add_register(std::uint32_t bytes);
  [[nodiscard]] Place place_of(const ptx::Operand& operand) const;
  [[nodiscard]] FrameSlot frame_slot(std::uint32_t variable) const;
  /// Turns of the loop around the basic block being lowered that ptxas makes one; 0: it does not.
  [[nodiscard]] std::uint32_t joined_turns() const { return joined_turns_; }
  /// Makes ops[op].imm the op index of a PTX instruction of the current function, once known.
  void branch_to(std::uint32_t op, std::uint32_t instruction);
  void jump_table_entry(std::uint32_t table, std::uint32_t instruction);
  /// Kernel::functions index of a module function, which becomes part of the closure.
  std::uint32_t function_index(std::uint32_t module_function);

 private:
  void lay_out_shared();
  void lay_out_frame(FunctionCode& code, const ptx::Function& function);
  void lay_out_registers(const ptx::Function& function);
  /// Registers with one value for the whole launch become constants. See builder_launch.cc.
  void find_launch_values(const ptx::Function& function);
  [[nodiscard]] std::optional<Ref> launch_value(const ptx::Function& function,
                                                const ptx::Instruction& instruction);
  Ref add_launch_value(LaunchValue value);
  void lower_function(std::uint32_t index);
  void lower_instruction(Lowering& lowering, const ptx::Instruction& instruction);
  void note_dependences(std::uint32_t first_op, const ptx::Instruction& instruction);
  void note_pattern(Op& op, const ptx::Instruction& instruction);
  /// Finds loads that ptxas would move to the beginning of their basic block.
  void note_order(std::uint32_t op, const ptx::Instruction& instruction);
  /// Gives every register that is loaded its place on the scoreboard.
  void take_load_slots(const ptx::Function& function);
  /// A basic block begins at this instruction.
  void begin_order(const ptx::Function& function, std::size_t begin);
  /// The branch back, if the basic block is a loop of its own; 0: it is none.
  [[nodiscard]] std::size_t end_of_loop(const ptx::Function& function, std::size_t begin) const;
  void collect_registers(const ptx::Operand& operand, std::vector<std::uint32_t>& out) const;
  void add_address_taken();
  /// Is the register at `ref` read for the last time by the instruction of this op?
  [[nodiscard]] bool dies(std::uint32_t op, Ref ref) const;
  void finish_info();

  const Program& program_;
  const ptx::Module& module_;
  std::unique_ptr<Kernel> kernel_;
  std::unordered_map<std::uint32_t, std::uint32_t> closure_;  ///< module function -> index
  std::vector<std::uint32_t> module_functions_;               ///< index -> module function
  bool address_taken_added_ = false;

  // Shared memory: module variable, or (function, variable), to offset.
  std::unordered_map<std::uint32_t, std::uint32_t> shared_symbols_;
  std::unordered_map<std::uint64_t, std::uint32_t> shared_locals_;
  std::uint32_t shared_bytes_ = 0;
  std::uint32_t dynamic_align_ = 16;

  // Of the function being lowered.
  std::uint32_t current_ = 0;
  std::vector<Ref> registers_;
  std::vector<bool> is_settled_;  ///< By instruction: the launch has done its work.
  std::vector<ptx::LiveInterval> intervals_;
  std::vector<FrameSlot> frame_;
  std::vector<std::uint32_t> op_of_instruction_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> branches_;  ///< op, instruction
  std::vector<std::array<std::uint32_t, 3>> table_entries_;        ///< table, index, instruction
  std::uint32_t register_bytes_ = 0;
  std::uint32_t predicates_ = 0;
  std::uint32_t live_words_ = 0;
  /// How many registers are live at each op of a function that has just been lowered.
  void note_pressure(std::uint32_t first_op, const ptx::Function& function);

  std::uint32_t entry_words_ = 0;
  std::unordered_map<std::uint64_t, Ref> constants32_;
  std::unordered_map<std::uint64_t, Ref> constants64_;
  // Scoreboard and producers, per register of the function.
  std::vector<std::uint16_t> load_slot_;  ///< slot + 1; 0: never loaded
  std::vector<bool> load_seen_;           ///< By an instruction above.
  std::vector<bool> load_pending_;
  std::vector<std::int64_t> producer_;  ///< op index, or -1
  std::vector<bool> is_label_;
  std::vector<std::uint16_t> pattern_key_;  ///< Of the register's present value; 0: none yet.
  std::vector<bool> from_load_;             ///< Its value depends on a load of this basic block.
  std::uint32_t joined_turns_ = 0;          ///< See joined_turns().
  bool has_effects_ = false;  ///< Memory may have changed since the basic block began.
  std::uint32_t block_begin_ = 0;
  ptx::RegisterAccess access_;
  std::uint16_t next_pattern_key_ = 1;
  std::uint32_t next_slot_ = 0;
};

/// Results that come from memory at a time only known at run time. Shared memory, parameters and
/// constants have a fixed latency, which the cost table knows.
[[nodiscard]] bool is_load(const ptx::Instruction& instruction);

/// Reads a special register into op.dst, 4 or 8 bytes per lane. Null: not supported.
[[nodiscard]] Handler special_register_handler(ptx::SpecialRegister special, std::uint32_t bytes);

/// Its work was done at launch; so was that of the `imm` ops behind it.
void exec_nothing(Warp& w, const Op& op);
/// Lets one exec_nothing speak for a run of them.
void join_settled(std::span<Op> ops);

/// Executes as a trap that names opcode and source line.
void exec_unsupported(Warp& w, const Op& op);
/// dst = address of the current frame of local memory + imm (8 bytes per lane).
void exec_frame_address(Warp& w, const Op& op);
/// Ends the entry function or returns from a call: appended to every body.
void exec_ret(Warp& w, const Op& op);

/// The family that lowers an opcode, or null.
[[nodiscard]] LowerFunction family_of(const ptx::Instruction& instruction);

}  // namespace cuco::vgpu
