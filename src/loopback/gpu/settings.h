// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `cuco run --on loopback` tells its library through the environment, and how the library
/// ends a program that cannot run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "loopback/network.h"

namespace cuco::loopback {

/// As cuco's own: something is missing.
inline constexpr int kCannotRun = 3;
/// A process of the run died, and with it the others.
inline constexpr int kBroken = 1;
/// The watchdog ended the program.
inline constexpr int kStuck = 86;

/// What this process is in its run.
enum class Role {
  Alone,    ///< The ranks are its threads.
  Rank,     ///< One of several processes with ranks.
  Network,  ///< The process that owns what they share, and plays the network.
};

struct Settings {
  int ranks = 1;
  Role role = Role::Alone;
  int process = 0;              ///< Of a Rank: its number under mpirun.
  std::string folder;           ///< Of this run: the network's socket.
  std::string report;           ///< A file; empty: none.
  double watchdog_seconds = 0;  ///< 0: off.
  Nanoseconds delay = 0;        ///< Of every delivery, beside the network's.
  std::optional<Network> network;

  /// Deliveries and collectives take a network's time, or come late.
  [[nodiscard]] bool paces() const { return network.has_value() || delay > 0; }
  [[nodiscard]] std::string socket() const { return folder + "/socket"; }
};

/// Of processes that mpirun started. Asks the environment alone.
[[nodiscard]] bool is_one_of_several();

/// Before settings() is first called: this process is its run's network.
void become_network();

/// Read once. Ends the program when a value makes no sense.
[[nodiscard]] const Settings& settings();

/// What else is done when the program is given up: others are told.
void before_giving_up(std::function<void(const std::string& why, int status)> tell);

/// Says why on stderr and in the report, and ends the program at once, whatever is running.
[[noreturn]] void give_up(const std::string& why, int status = kCannotRun);

/// Adds a line to the report.
void write_report(const std::string& line);
/// A JSON string, quoted.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace cuco::loopback
