// SPDX-License-Identifier: Apache-2.0
/// \file
/// The moments at which a judged rank enters cuco_run and at which that has ended: in between peers
/// may use its buffers. Both are reported as writes to them, so whoever does not come after the one
/// and before the other races with it.
#pragma once

#include <string_view>

namespace cuco::check {

inline constexpr std::string_view kEntry = "entry into cuco_run";
inline constexpr std::string_view kEnd = "end of cuco_run";

}  // namespace cuco::check
