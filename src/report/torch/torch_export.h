// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tuned kernel as a PyTorch extension: a folder with source, binding, build file, and a test
/// against the original that also runs without PyTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "candidate/run_state.h"
#include "program/source.h"

namespace cuco::report {

/// What the extension needs to know of the workload, in the words of workload.toml.
struct TorchKernel {
  struct Buffer {
    std::string name;
    std::string elements;  ///< Formulas.
    std::string type;
  };
  /// A shape to compare on, with the sizes of its inputs.
  struct Shape {
    std::vector<long long> params;
    std::vector<std::pair<std::size_t, std::string>> inputs;  ///< Elements and type.
  };
  std::string name;
  std::vector<std::string> params;
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<Shape> shapes;
  double fp32_tolerance = 1e-5;
  double bf16_tolerance = 0.0041;
};

/// `header` is cuco/workload.h. InvalidInput for a program that needs NCCL.
[[nodiscard]] Result<std::vector<program::File>> torch_folder(const candidate::RunState& state,
                                                              candidate::Number number,
                                                              std::string_view run,
                                                              const TorchKernel& kernel,
                                                              std::string_view header);

}  // namespace cuco::report
