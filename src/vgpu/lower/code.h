// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel as the interpreter runs it: immutable, shared by all its grids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/aligned.h"
#include "ptx/flow/liveness.h"
#include "ptx/module.h"
#include "vgpu/lower/op.h"
#include "vgpu/lower/program.h"

namespace cuco::vgpu {

/// Where an op came from: traps, profiles and the checker name it.
struct Origin {
  const ptx::Instruction* instruction = nullptr;
  const ptx::Function* function = nullptr;
};

/// A byte range in a thread's frame of local memory.
struct FrameSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

/// One function of a kernel's closure: the entry, or something it may call.
struct FunctionCode {
  const ptx::Function* function = nullptr;
  std::uint32_t symbol = 0;          ///< Module symbol; by which indirect calls find it.
  std::uint32_t first_op = 0;        ///< Into Kernel::ops.
  std::uint32_t register_bytes = 0;  ///< Register file of one frame.
  std::uint32_t predicates = 0;
  std::uint32_t frame_bytes = 0;  ///< Local memory of one frame, per thread, .param included.
  std::vector<FrameSlot> returns;
  std::vector<FrameSlot> parameters;
  bool clears_registers = true;  ///< A register may be read before it is written.
  // By register of the function: its place, and where its value is wanted.
  std::vector<Ref> registers;
  std::vector<ptx::LiveInterval> live;
};

/// A call site: which bytes go where.
struct CallPlan {
  std::int32_t function = -1;  ///< Into Kernel::functions; -1: indirect, through op.a.
  std::int32_t builtin = -1;   ///< vprintf and the like: see builtins.h.
  std::vector<FrameSlot> returns;
  std::vector<FrameSlot> arguments;
};

/// A place in the pool of constants that is filled at launch: an argument, or, for special
/// registers that are the same for the whole grid, their value.
struct LaunchValue {
  std::uint32_t place = 0;  ///< In Kernel::constants.
  std::uint8_t bytes = 4;   ///< Per lane.
  bool is_argument = true;
  ptx::SpecialRegister special{};
  std::uint32_t offset = 0;  ///< Of the argument.
};

struct Kernel {
  KernelInfo info;
  const ptx::Module* module = nullptr;
  std::vector<FunctionCode> functions;  ///< [0] is the entry.
  std::unordered_map<std::uint32_t, std::uint32_t> function_of_symbol;
  std::vector<Op> ops;
  std::vector<Ref> refs;
  std::vector<CallPlan> calls;
  std::vector<std::vector<std::uint32_t>> jump_tables;  ///< brx.idx: op indices
  std::vector<Origin> origins;
  std::vector<std::string> failures;  ///< Why an instruction could not be lowered.
  AlignedBytes constants;  ///< Broadcast vectors: 128 bytes per 32-bit value, 256 per 64-bit one.
  std::vector<LaunchValue> launch_values;
  /// For the time model, per op: distances back to the producers of its operands within its basic
  /// block (0: none), and whether it begins a block.
  std::vector<std::array<std::uint8_t, 4>> producers;
  std::vector<bool> leaders;
  std::vector<std::uint32_t> block_begin;  ///< Per op: where its basic block begins.
  /// Registers that hold values which are still wanted, per op: what does not fit is spilled.
  std::vector<std::uint16_t> pressure;
};

}  // namespace cuco::vgpu
