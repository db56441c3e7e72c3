// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops that last until a value says so: a delay reads the clock until it is late enough.
#pragma once

#include <cstdint>

#include "ptx/module.h"

namespace cuco::ptx {

/// May a loop around this instruction go on or end by what it reads? False only where the value
/// demonstrably reaches no branch of such a loop, and leaves no trace in memory within it.
[[nodiscard]] bool decides_loop(const Function& function, std::uint32_t instruction);

}  // namespace cuco::ptx
