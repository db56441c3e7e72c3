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

/// A run that gets here is over, with that as its outcome. The number overflows a hundred times
/// later, so that what a single step adds to a clock needs no check.
inline constexpr VTime kEndOfTime = VTime{24} * 3600 * kSecond;

/// The longest step that a spin on a clock may skip.
inline constexpr VTime kLongestLeap = 100 * kMillisecond;

/// `duration` later, but not past the end: for durations that a program chooses.
constexpr VTime after(VTime time, VTime duration) {
  return duration >= kEndOfTime - time ? kEndOfTime + 1 : time + duration;
}

}  // namespace cuco::vgpu
