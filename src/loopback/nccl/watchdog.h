// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ends a program that makes no progress, and says who waits for what; and the report at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuco::loopback {

/// Ranks that are not in this process.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  [[nodiscard]] virtual std::uint64_t progress() = 0;
  /// What their streams have not done, one line each.
  [[nodiscard]] virtual std::vector<std::string> waits() = 0;
};
/// They count, too. Before the start.
void watch_elsewhere(Elsewhere& others);

/// What this process's ranks have done so far, and what they wait for.
[[nodiscard]] std::uint64_t own_progress();
[[nodiscard]] std::vector<std::string> own_waits();

/// Started with the first communicator.
void start_watchdog();

/// Something happened that is not a kernel, a copy or a delivery.
void note_progress();

}  // namespace cuco::loopback
