// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tells headers of CUDA and NCCL from a program's own files.
#pragma once

#include <string_view>

namespace cuco::ptx {

/// Of what was inlined from such a file the line that called it says more. Toolkits lie in folders
/// of many names (cuda, cuda-13.0, a home's opt): what counts is how their headers lie inside.
bool is_of_toolkit(std::string_view file);

}  // namespace cuco::ptx
