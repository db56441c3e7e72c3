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
class DirectedRounding {
 public:
  explicit DirectedRounding(Rounding mode) : saved_(_mm_getcsr()) {
    const unsigned control = mode == Rounding::Zero   ? _MM_ROUND_TOWARD_ZERO
                             : mode == Rounding::Down ? _MM_ROUND_DOWN
                             : mode == Rounding::Up   ? _MM_ROUND_UP
                                                      : _MM_ROUND_NEAREST;
    _mm_setcsr((saved_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | control);
  }
  ~DirectedRounding() { _mm_setcsr(saved_); }
  DirectedRounding(const DirectedRounding&) = delete;
  DirectedRounding& operator=(const DirectedRounding&) = delete;

 private:
  unsigned saved_;
};

namespace directed {

inline double divide(double a, double b) {
  asm volatile("vdivsd %1, %0, %0" : "+x"(a) : "x"(b));
  return a;
}
inline double sqrt(double a) {
  asm volatile("vsqrtsd %0, %0, %0" : "+x"(a));
  return a;
}
inline double add(double a, double b) {
  asm volatile("vaddsd %1, %0, %0" : "+x"(a) : "x"(b));
  return a;
}
inline double multiply(double a, double b) {
  asm volatile("vmulsd %1, %0, %0" : "+x"(a) : "x"(b));
  return a;
}
inline double fma(double a, double b, double c) {
  asm volatile("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}

}  // namespace directed

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
