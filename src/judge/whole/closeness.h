// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far two results of the same computation may lie apart when it was done in another order.
///
/// A sum of n terms in any order has a rounding error of about u * sqrt(n) of its size, u being the
/// type's unit roundoff. An element may differ by 4 u sqrt(n) of its own size. Terms that cancel
/// leave the errors of their partial sums behind: an element may differ by 4 u sqrt(n - 2), and at
/// least 2 u, of the size that elements around it have. All together may differ by u sqrt(n), root
/// mean square: what is wrong everywhere by a little, a rank's part left out, is seen there. At
/// least 4 terms are assumed. Infinities, NaN and whole numbers must be the same.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "vcluster/record/element_type.h"

namespace cuco::judge {

using vcluster::ByteSpan;
using vcluster::ElementType;
using vcluster::KnownType;

struct Closeness {
  KnownType type;
  double terms = 1;  ///< Of the longest sum.

  [[nodiscard]] double relative() const;       ///< To an element's own size.
  [[nodiscard]] double to_neighbours() const;  ///< To the size of those around it.
  [[nodiscard]] double together() const;       ///< Root mean square.
};

/// Terms of a sum that nobody has declared: over ranks, each of which has added up some in fp32 or
/// fp64. Sums in 16 bits are short, or they would be useless.
[[nodiscard]] double usual_terms(ElementType type, int ranks);

struct Deviation {
  std::size_t elements = 0;
  std::size_t wrong = 0;  ///< Beyond what is allowed; 0: only all of them together.
  std::size_t worst = 0;  ///< The element that exceeds by most what is allowed.
  double got = 0;
  double expected = 0;
  double allowed = 0;  ///< Of the difference, at `worst`; 0: it must be the same, bit by bit.
  std::uint64_t got_bits = 0;
  std::uint64_t expected_bits = 0;
  double rms = 0;  ///< Of all differences, relative to the rms of what was expected.
};

/// Nothing if `got` is as close to `expected` as it has to be; both are of one size.
[[nodiscard]] std::optional<Deviation> deviation(ByteSpan expected,
                                                 ByteSpan got,
                                                 const Closeness& closeness);

/// "element 17 is 3.25, expected 4.5; …": where, what, by how much, how many.
[[nodiscard]] std::string describe(const Deviation& deviation, const Closeness& closeness);

}  // namespace cuco::judge
