// SPDX-License-Identifier: Apache-2.0
/// \file
/// What makes two strong operations on the same bytes one location's: scope and size.
#pragma once

#include <bit>
#include <cstdint>

#include "vgpu/gpu/observer.h"

namespace cuco::check {

/// Of an access, in one byte; by default it is weak.
class Strength {
 public:
  Strength() = default;
  Strength(vgpu::Scope scope, vgpu::AccessKind kind, std::uint64_t bytes)
      : bits_(static_cast<std::uint8_t>((1U + static_cast<unsigned>(scope)) | size_of(kind, bytes)
                                                                                  << kSizeShift)) {}

  explicit operator bool() const { return bits_ != 0; }
  [[nodiscard]] vgpu::Scope scope() const {
    return static_cast<vgpu::Scope>((bits_ & kScopeMask) - 1U);
  }
  /// Accesses are aligned to their size: those of one size that overlap do so completely.
  [[nodiscard]] bool same_size(const Strength& other) const {
    const unsigned a = bits_ >> kSizeShift;
    const unsigned b = other.bits_ >> kSizeShift;
    if (a == b || a == kAnySize || b == kAnySize) return true;
    // libcu++ makes read-modify-writes of bytes from those of their word.
    return (a == kWordAtomic && b <= kWord) || (b == kWordAtomic && a <= kWord);
  }

 private:
  static constexpr unsigned kScopeMask = 7;
  static constexpr unsigned kSizeShift = 3;
  static constexpr unsigned kWord = 2;  ///< Logarithm of its size; others likewise.
  static constexpr unsigned kWordAtomic = 6;
  static constexpr unsigned kAnySize = 7;  ///< Of no instruction: the host's.

  static unsigned size_of(vgpu::AccessKind kind, std::uint64_t bytes) {
    if (!std::has_single_bit(bytes) || bytes > 16) return kAnySize;
    if (bytes == 4 && kind == vgpu::AccessKind::Atomic) return kWordAtomic;
    return static_cast<unsigned>(std::countr_zero(bytes));
  }

  std::uint8_t bits_ = 0;
};

}  // namespace cuco::check
