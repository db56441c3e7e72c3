// SPDX-License-Identifier: Apache-2.0
/// \file
/// Virtual time: what the simulated machine's clocks show. Never the host's clock.
#pragma once

#include <cstdint>

namespace cuco::vgpu {

/// Picoseconds since the start of the simulation. 2^63 ps are 106 days.
using VTime = std::int64_t;

inline constexpr VTime kNanosecond = 1'000;
inline constexpr VTime kMicrosecond = 1'000'000;
inline constexpr VTime kMillisecond = 1'000'000'000;
inline constexpr VTime kSecond = 1'000'000'000'000;

/// Later than everything that happens.
inline constexpr VTime kNever = INT64_MAX;

}  // namespace cuco::vgpu
