// SPDX-License-Identifier: Apache-2.0
/// \file
/// Constant expressions of PTX (ISA section 4.6): C's operators over 64-bit integers.
#pragma once

#include <cstdint>

#include "ptx/parse/lexer.h"

namespace cuco::ptx {

struct Constant {
  std::int64_t value = 0;
  bool is_unsigned = false;
};

/// Whether the current token can only begin a constant expression.
[[nodiscard]] bool at_constant(const TokenStream& tokens);

/// Evaluates the expression at the current token. Division by zero and too deep nesting fail.
Constant parse_constant(TokenStream& tokens);

}  // namespace cuco::ptx
