// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which pointers of a kernel cannot lead to the same memory: one of them is __restrict__, or every
/// launch of the program gives them other buffers.
#pragma once

#include <vector>

#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

/// For each launch of a kernel and each argument, the buffers that it may be; none: not known.
using LaunchBuffers = std::vector<std::vector<std::vector<int>>>;

class DistinctMemory {
 public:
  DistinctMemory(const KernelBody& kernel, const LaunchBuffers& launches)
      : kernel_(kernel), launches_(launches) {}

  /// Both are pointers or arrays.
  [[nodiscard]] bool apart(const analysis::Expression& a, const analysis::Expression& b) const;

  /// The same for two parameters, by their numbers.
  [[nodiscard]] bool apart(int first, int second) const;

  /// Whether it leads to an array of the kernel itself.
  [[nodiscard]] bool is_own(const analysis::Expression& pointer) const;

  /// The number of the parameter that a pointer is made of; -1 if it cannot be told.
  [[nodiscard]] int parameter_of(const analysis::Expression& pointer) const;

 private:
  /// The variable that a pointer is made of.
  [[nodiscard]] int origin(const analysis::Expression& pointer, int depth) const;
  [[nodiscard]] int number_of(int variable) const;
  [[nodiscard]] bool is_own_array(int variable) const;

  const KernelBody& kernel_;
  const LaunchBuffers& launches_;
};

}  // namespace cuco::expert::kernels
