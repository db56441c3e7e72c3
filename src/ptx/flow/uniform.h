// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values that all threads of a kernel have alike, as far as one look at the code shows it.
#pragma once

#include "ptx/module.h"

namespace cuco::ptx {

/// Does the operand (a register, an address, a symbol, a number) mean the same to all threads of a
/// launch? True only where it follows from parameters, symbols and constants by moves, conversions
/// of addresses and sums.
[[nodiscard]] bool is_uniform(const Function& function, const Operand& operand);

}  // namespace cuco::ptx
