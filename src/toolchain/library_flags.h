// SPDX-License-Identifier: Apache-2.0
/// \file
/// What nvcc must be given for the libraries that a program's text names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuco::toolchain {

/// For NCCL, the driver API, NVRTC, cuBLAS, cuFFT, cuRAND, and for MPI as its own compiler wrapper
/// says.
[[nodiscard]] std::vector<std::string> library_flags(std::string_view text);

}  // namespace cuco::toolchain
