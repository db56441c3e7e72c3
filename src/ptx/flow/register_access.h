// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which registers an instruction reads and which it writes.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace cuco::ptx {

/// Registers of one instruction, as indices into Function::registers; a register may repeat.
struct RegisterAccess {
  std::vector<std::uint32_t> reads;  ///< The guard included.
  std::vector<std::uint32_t> writes;
  /// Whether the old values of `writes` are gone afterwards, in every thread that comes by. Not so
  /// for a guarded instruction, or one that we do not know.
  bool kills = false;
  /// The instruction works on its registers after it was issued (wgmma): they must not be reused.
  bool is_asynchronous = false;

  void clear();
};

/// Fills `access`. Errs on the safe side: what is not understood reads and writes all it names.
void find_access(const Function& function, const Instruction& instruction, RegisterAccess& access);

/// Does any instruction of the function read a register of the operand?
[[nodiscard]] bool is_read(const Function& function, const Operand& operand);

}  // namespace cuco::ptx
