// SPDX-License-Identifier: Apache-2.0
/// \file
/// The comparisons of setp, set and vset: ordered, unordered, num and nan.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/instruction.h"

namespace cuco::vgpu {

enum class Comparison : std::uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

/// Always inline: where the comparison is a constant, this is one vector compare for all lanes; the
/// unordered forms are negations for that reason.
template <typename T>
[[nodiscard, gnu::always_inline]] inline bool compare_values(Comparison comparison, T a, T b) {
  switch (comparison) {
    case Comparison::Eq:
      return a == b;
    case Comparison::Ne:
      return a < b || a > b;  // Ordered for floats.
    case Comparison::Lt:
      return a < b;
    case Comparison::Le:
      return a <= b;
    case Comparison::Gt:
      return a > b;
    case Comparison::Ge:
      return a >= b;
    case Comparison::Equ:
      return !(a < b || a > b);
    case Comparison::Neu:
      return !(a == b);
    case Comparison::Ltu:
      return !(a >= b);
    case Comparison::Leu:
      return !(a > b);
    case Comparison::Gtu:
      return !(a <= b);
    case Comparison::Geu:
      return !(a < b);
    case Comparison::Num:
      return a == a && b == b;
    case Comparison::Nan:
      return !(a == a && b == b);
  }
  return false;
}

/// lo, ls, hi and hs are the unsigned spellings.
[[nodiscard]] inline std::optional<Comparison> comparison_of(const ptx::Instruction& instruction) {
  for (const ptx::Modifier modifier : instruction.modifiers) {
    switch (modifier) {
      case ptx::Modifier::Eq:
        return Comparison::Eq;
      case ptx::Modifier::Ne:
        return Comparison::Ne;
      case ptx::Modifier::Lt:
      case ptx::Modifier::Lo:
        return Comparison::Lt;
      case ptx::Modifier::Le:
      case ptx::Modifier::Ls:
        return Comparison::Le;
      case ptx::Modifier::Gt:
      case ptx::Modifier::Hi:
        return Comparison::Gt;
      case ptx::Modifier::Ge:
      case ptx::Modifier::Hs:
        return Comparison::Ge;
      case ptx::Modifier::Equ:
        return Comparison::Equ;
      case ptx::Modifier::Neu:
        return Comparison::Neu;
      case ptx::Modifier::Ltu:
        return Comparison::Ltu;
      case ptx::Modifier::Leu:
        return Comparison::Leu;
      case ptx::Modifier::Gtu:
        return Comparison::Gtu;
      case ptx::Modifier::Geu:
        return Comparison::Geu;
      case ptx::Modifier::Num:
        return Comparison::Num;
      case ptx::Modifier::Nan:
      case ptx::Modifier::NanTest:
        return Comparison::Nan;
      default:
        break;
    }
  }
  return std::nullopt;
}

}  // namespace cuco::vgpu
