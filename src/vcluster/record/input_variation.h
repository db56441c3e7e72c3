// SPDX-License-Identifier: Apache-2.0
/// \file
/// Other numbers in place of a program's own: a program that knows its answers by heart gets them
/// wrong then. Each floating-point number keeps its sign and its power of two and gets digits that
/// depend on a secret and on the number alone. So it does not matter in which pieces and in which
/// order a program sends its data, copies of the same data stay the same, and zeros stay zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vcluster/record/element_type.h"

namespace cuco::vcluster {

struct InputVariation {
  std::uint64_t key = 0;  ///< The secret; 0: nothing is changed.
  WrittenAs types = 0;    ///< Floating-point types that the program's kernels know.

  /// Takes the bytes for an array of one of the types, by their contents; Exact: they are not one,
  /// and stay as they are. Numbers that were changed before are left alone.
  ElementType apply(std::span<std::byte> bytes) const;
};

}  // namespace cuco::vcluster
