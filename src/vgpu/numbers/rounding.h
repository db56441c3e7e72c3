// SPDX-License-Identifier: Apache-2.0
/// \file
/// Double arithmetic in a rounding mode of choice: the processor's, set for a scope.
///
/// The compiler knows nothing of rounding modes, so the operations are opaque to it.
#pragma once

#include <bit>
#include <cstdint>

#include <immintrin.h>

#include "ptx/instruction.h"
#include "vgpu/numbers/formats.h"

namespace cuco::vgpu {

/// Sets the processor's rounding mode until the end of the scope.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding mode) : saved_(_mm_getcsr()) {
    const unsigned control = mode == Rounding::Zero   ? _MM_ROUND_TOWARD_ZERO
                             : mode == Rounding::Down ? _MM_ROUND_DOWN
                             : mode == Rounding::Up   ? _MM_ROUND_UP
                                                      : _MM_ROUND_NEAREST;
    _mm_setcsr((saved_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | control);
  }
  ~RoundingScope() { _mm_setcsr(saved_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  unsigned saved_;
};

/// Opaque to the compiler: in the mode of the scope.
namespace rounded {

inline double divide(double a, double b) {
  asm volatile("vdivsd %1, %0, %0" : "+x"(a) : "x"(b));
  return a;
}
inline double sqrt(double a) {
  asm volatile("vsqrtsd %0, %0, %0" : "+x"(a));
  return a;
}

}  // namespace rounded

/// The f64 NaN that the hardware gives for these operands.
[[nodiscard]] inline std::uint64_t canonical_f64(double result, double a, double b) {
  constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51U;
  if (result == result) return std::bit_cast<std::uint64_t>(result);
  if (a != a) return std::bit_cast<std::uint64_t>(a) | kQuiet;
  if (b != b) return std::bit_cast<std::uint64_t>(b) | kQuiet;
  return 0xFFF8'0000'0000'0000U;
}

/// .rn .rz .rm .rp; default rn.
[[nodiscard]] inline Rounding rounding_of(const ptx::Instruction& instruction) {
  if (instruction.has(ptx::Modifier::Rz)) return Rounding::Zero;
  if (instruction.has(ptx::Modifier::Rm)) return Rounding::Down;
  if (instruction.has(ptx::Modifier::Rp)) return Rounding::Up;
  return Rounding::Nearest;
}

}  // namespace cuco::vgpu
