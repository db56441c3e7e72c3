// SPDX-License-Identifier: Apache-2.0
/// \file
/// As what an instruction writes memory: a store of floats says so, or what computed its operand
/// does. `st.global.u16` of what `cvt.rn.bf16.f32` made is a bf16.
#pragma once

#include "ptx/module.h"

namespace cuco::ptx {

/// Several may hold: a vector of an index and a value. None: bits were only moved or masked.
struct StoredType {
  bool f16 = false;
  bool bf16 = false;
  bool f32 = false;
  bool f64 = false;
  bool integer = false;  ///< The result of integer arithmetic.

  bool operator==(const StoredType&) const = default;
};

/// Of a store, reduction or atomic of the function.
[[nodiscard]] StoredType stored_type(const Function& function, const Instruction& instruction);

}  // namespace cuco::ptx
