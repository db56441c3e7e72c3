// SPDX-License-Identifier: Apache-2.0
/// \file
/// Device code by NVRTC, in a sandboxed process, with the headers compiled once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolchain/object_builder.h"

namespace cuco::toolchain {

struct DeviceSource {
  std::string text;                  ///< Without functions of the host.
  std::string preamble;              ///< Its beginning, up to the first declaration.
  std::vector<std::string> kernels;  ///< Instances of templates to make.
};

/// The PTX. InvalidInput with the compiler's message if it does not compile; other Errors are ours,
/// among them NotFound where there is no NVRTC. Either way nvcc is the one to ask.
[[nodiscard]] Result<std::string> compile_device_code(const DeviceSource& source,
                                                      const BuildSettings& settings);

}  // namespace cuco::toolchain
