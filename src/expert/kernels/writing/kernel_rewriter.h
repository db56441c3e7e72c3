// SPDX-License-Identifier: Apache-2.0
/// \file
/// One kernel rewritten to a design, and what its launches have to change with it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "design/kernel_design.h"
#include "expert/kernels/writing/fitted_launch.h"
#include "expert/kernels/writing/geometry.h"
#include "expert/kernels/writing/row_loops.h"
#include "expert/kernels/writing/shuffle_reduction.h"
#include "expert/kernels/writing/vector_loop.h"

namespace cuco::expert::kernels {

/// Names of the functions that the program is given.
struct HelperNames {
  VectorNames vectors;
  ReducerNames reducers;
  FitNames fits;
};

struct RewrittenKernel {
  std::string text;      ///< The function, from its span's begin.
  bool vectors = false;  ///< Uses templates/vector.cu.
  std::map<std::string, std::string>
      reducers;                                ///< Operation and name of templates/block_reduce.cu.
  std::set<std::string> done;                  ///< Dimensions of the design that fitted.
  std::map<std::string, std::string> refused;  ///< Dimensions that did not, and why.
  int threads = 0;                             ///< New size of its blocks; 0: as it was.
  int blocks_per_row = 0, rows_per_block = 0;
  int grid_divisor = 0;  ///< The grid may be smaller by this.
  FittedLaunch fitted;   ///< Uses templates/fitted_launch.cu.
  std::string whole;     ///< The parameter of the template that it becomes; empty: none.
  bool operator==(const RewrittenKernel&) const = default;
};

/// `launches` are all that the program has of the kernel, and `buffers` what they give it.
[[nodiscard]] RewrittenKernel rewrite_kernel(const KernelBody& kernel,
                                             const std::vector<LaunchText>& launches,
                                             const LaunchBuffers& buffers,
                                             std::string_view text,
                                             const design::KernelDesign& design,
                                             const HelperNames& names);

}  // namespace cuco::expert::kernels
