// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches whose grid and blocks follow from the sizes that they are given: one program has to
/// serve rows of every length and number. Any geometry gives the same results, as the loops step
/// over all threads that there are; this one gives each thread the work of one batch.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "expert/kernels/reading/kernel_body.h"
#include "expert/kernels/reading/launch_text.h"

namespace cuco::expert::kernels {

enum class Fit {
  None,
  Rows,   ///< Blocks share long rows, and short rows share a block.
  Block,  ///< A row stays one block's, with threads for its length.
};

/// How the launches of a kernel are fitted, in terms of its parameters.
struct FittedLaunch {
  Fit fit = Fit::None;
  std::string length;  ///< Of a row; "@2@" stands for argument 2.
  std::string each;    ///< Elements that a thread takes at once, in the same way.
  int most = 0;        ///< Threads of a block.
  bool operator==(const FittedLaunch&) const = default;
};

/// Names of what the program is given once: see templates/fitted_launch.cu.
struct FitNames {
  std::string parts = "row_parts";
  std::string threads = "row_threads";
  std::string block = "row_block";
  std::string grid = "row_grid";
};

/// An expression of the kernel in terms of its arguments. The error says what the host does not
/// know.
[[nodiscard]] Result<std::string> in_arguments(const KernelBody& kernel,
                                               const analysis::Expression& expression);

/// Whether what a launch gives for the arguments in `expression` may be evaluated once more.
[[nodiscard]] Result<void> check_repeatable(const LaunchText& launch,
                                            const std::string& expression);

/// Grid and block of one launch, and the condition that each thread has one batch.
struct GridAndBlock {
  std::string grid, block, whole;
};
[[nodiscard]] GridAndBlock fit_launch(const FittedLaunch& fitted,
                                      const LaunchText& launch,
                                      const FitNames& names);

}  // namespace cuco::expert::kernels
