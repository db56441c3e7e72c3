// SPDX-License-Identifier: Apache-2.0
/// \file
/// The moment at which a judged rank enters cuco_run: from then on peers may use its outputs. It is
/// reported as a write to them, so whoever does not come after it races with it.
#pragma once

#include <string_view>

namespace cuco::check {

inline constexpr std::string_view kEntry = "entry into cuco_run";

}  // namespace cuco::check
