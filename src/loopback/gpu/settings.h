// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `cuco run --on loopback` tells its library through the environment, and how the library
/// ends a program that cannot run.
#pragma once

#include <optional>
#include <string>

#include "loopback/network.h"

namespace cuco::loopback {

/// As cuco's own: something is missing.
inline constexpr int kCannotRun = 3;
/// The watchdog ended the program.
inline constexpr int kStuck = 86;

struct Settings {
  int ranks = 1;
  std::string folder;           ///< Of sockets; empty: ranks are threads.
  std::string report;           ///< A file; empty: none.
  double watchdog_seconds = 0;  ///< 0: off.
  Nanoseconds delay = 0;        ///< Of every delivery, beside the network's.
  std::optional<Network> network;
};

/// Read once. Ends the program when a value makes no sense.
[[nodiscard]] const Settings& settings();

/// Says why on stderr and in the report, and ends the program at once, whatever is running.
[[noreturn]] void give_up(const std::string& why, int status = kCannotRun);

/// Adds a line to the report.
void write_report(const std::string& line);
/// A JSON string, quoted.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace cuco::loopback
