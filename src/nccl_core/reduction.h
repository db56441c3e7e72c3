// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element-wise reductions of NCCL's data types: the arithmetic of every reducing collective.
///
/// The result does not depend on timing: ranks are folded in order 0, 1, 2, ... Narrow floats are
/// accumulated in float and rounded once, 64-bit floats in double; integers wrap. An average of
/// integers divides the wrapped sum, an average of floats multiplies each input by 1/n first, as
/// NCCL does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nccl_core/types.h"

namespace cuco::nccl_core {

/// What to compute. `scalar` holds one element's bytes per rank for a pre-multiplied sum.
struct Reduction {
  DataType type = DataType::Float32;
  ReduceOp op = ReduceOp::Sum;
  std::span<const std::array<std::byte, 8>> scalars;
};

/// Reduces `count` elements of all `inputs` (one pointer per rank) into `output`, which may be one
/// of the inputs.
void reduce(const Reduction& reduction,
            std::span<const std::byte* const> inputs,
            std::byte* output,
            std::uint64_t count);

}  // namespace cuco::nccl_core
