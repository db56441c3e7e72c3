// SPDX-License-Identifier: Apache-2.0
/// \file
/// A scale model: a GPU with a fraction of another's throughput, on which the same fraction of its
/// work takes as long.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "hardware/gpu_description.h"

namespace cuco::hardware {

/// By how much the work was divided, and so the machine. Not one number: where the rows of a matrix
/// product are divided, its other operand stays whole.
struct Divisor {
  double math = 1;    ///< SMs, their rates together, and the L2's.
  double memory = 1;  ///< HBM, and what the L2 holds.
  double links = 1;   ///< NVLink, NIC, host.
  bool operator==(const Divisor&) const = default;
};

/// Throughputs are divided; latencies, launches and the limits of one SM stay. SMs come whole: what
/// is lost by that the clock makes up for, and latencies in cycles follow it. Tensor cores have the
/// CPU's arithmetic: what is timed here was verified bit by bit on smaller shapes.
[[nodiscard]] GpuDescription divided(GpuDescription gpu, const Divisor& by);

/// "8,2.5,8", and back; a part below 1 or missing is an error.
[[nodiscard]] std::string to_text(const Divisor& divisor);
[[nodiscard]] Result<Divisor> parse_divisor(std::string_view text);

}  // namespace cuco::hardware
