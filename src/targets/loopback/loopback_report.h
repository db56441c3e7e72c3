// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the loopback library says at a program's end. It is written by processes of the program's:
/// good for a person who looks at an own program, never for a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cuco::targets {

struct PacingError {
  std::uint64_t transfers = 0;
  double mean = 0;  ///< |time taken / time modelled - 1|
  double worst = 0;
  double mean_off_us = 0;  ///< |time taken - time modelled|
};

struct RankTraffic {
  int rank = 0;
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t collective_bytes = 0;
  bool uses_lsa = false;  ///< It has load/store windows of its peers.
  double seconds = 0;     ///< From the first communicator to the last.
  std::optional<PacingError> pacing = {};
};

/// How much of a run's traffic took the time that the modelled network takes.
enum class Pacing {
  None,    ///< It ran at the GPU's own speed.
  Partly,  ///< Puts and collectives were paced, loads and stores were not.
  Whole,
};
[[nodiscard]] std::string_view name_of(Pacing pacing);

struct LoopbackReport {
  std::vector<RankTraffic> ranks;     ///< By number.
  std::vector<std::string> findings;  ///< Of the watchdog: who waits for what.
  int unreadable = 0;                 ///< Lines.

  [[nodiscard]] std::uint64_t puts() const;
  [[nodiscard]] std::uint64_t put_bytes() const;
  [[nodiscard]] std::uint64_t collective_bytes() const;
  /// Of all ranks' transfers together; nothing where none was paced.
  [[nodiscard]] std::optional<PacingError> pacing_error() const;
  [[nodiscard]] double seconds() const;  ///< Of the rank that took longest.
};

/// Of the report's lines; what is not one of them is counted.
[[nodiscard]] LoopbackReport parse_loopback_report(std::string_view text);

[[nodiscard]] Pacing pacing_of(const LoopbackReport& report, bool has_network);

/// Two runs' times can be compared if the same part of their traffic was paced: otherwise the one
/// that evades the modelled network would win. The sentence that says why not; empty: they can.
[[nodiscard]] std::string why_not_comparable(Pacing one, Pacing other);

[[nodiscard]] Json to_json(const LoopbackReport& report);

}  // namespace cuco::targets
