// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arithmetic of the tensor cores, on matrices; fragments and layouts are the callers' matter.
///
/// What an H200 does, found by fitting its answers bit for bit: products are exact; they and the
/// addend are aligned to the largest exponent among them, where a product's exponent is the sum of
/// its factors' exponents, before normalisation; what lies more than 25 bits below is cut off, term
/// by term, towards zero; the sum of the whole K is exact; the result is cut to f32 towards zero.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cuco::vgpu {

/// Bits kept below the largest exponent.
inline constexpr int kTensorFraction = 25;
inline constexpr unsigned kTensorMaxDepth = 16;  ///< K of one step, for 16-bit operands.

/// A matrix of factors: values and, beside them, the power of two of each one's exponent (0 for a
/// zero; the lowest normal power for subnormal numbers, which are not normalised).
template <unsigned Count>
struct alignas(32) Factors {
  std::array<float, Count> value;
  std::array<float, Count> power;
};

using FactorsA = Factors<16 * kTensorMaxDepth>;  ///< [row][k], rows of `depth` numbers.
using FactorsB = Factors<kTensorMaxDepth * 8>;   ///< [k][8 columns]

enum class FactorKind : std::uint8_t { F16, Bf16, Tf32 };

/// Fills `count` factors (a multiple of 8) from 16-bit or 32-bit (tf32) elements.
void load_factors(
    FactorKind kind, const void* elements, unsigned count, float* value, float* power);

/// Registers of the 32 lanes, as mma.sync lays its fragments out (PTX ISA 9.7.14.5).
using FragmentRegisters = std::span<const std::uint32_t* const>;
void load_fragment_a(FactorKind kind, unsigned depth, FragmentRegisters registers, FactorsA& out);
void load_fragment_b(FactorKind kind, unsigned depth, FragmentRegisters registers, FactorsB& out);

/// d[16][8] = a[16][depth] * b[depth][8] + c[16][8], all row-major.
void multiply_accumulate(
    const FactorsA& a, const FactorsB& b, unsigned depth, const float* c, float* d);

/// The same with an f16 accumulator: c and d are f16 values held in floats.
void multiply_accumulate_f16(
    const FactorsA& a, const FactorsB& b, unsigned depth, const float* c, float* d);

/// The same operands as plain numbers, and their product with the CPU's fused multiply-adds, k
/// ascending: for runs that are only timed (GpuDescription::native_tensor).
void load_values_a(FactorKind kind, unsigned depth, FragmentRegisters registers, float* out);
void load_values_b(FactorKind kind, FragmentRegisters registers, float* out);
void multiply_native(const float* a, const float* b, unsigned depth, const float* c, float* d);

}  // namespace cuco::vgpu
