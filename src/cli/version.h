// SPDX-License-Identifier: Apache-2.0
/// \file
/// The version, from CMakeLists.txt.
#pragma once

#include <string_view>

namespace cuco::cli {

inline constexpr std::string_view kVersion = CUCO_VERSION;

}  // namespace cuco::cli
