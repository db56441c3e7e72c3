// SPDX-License-Identifier: Apache-2.0
/// \file
/// The process that plays the network where ranks are processes: it owns what they share, so that
/// they meet in it, and what it says of the traffic is none of theirs.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::targets {

class NetworkProcess {
 public:
  /// Waits until it listens at `socket`. `environment`: what the ranks are given, too.
  [[nodiscard]] static Result<std::unique_ptr<NetworkProcess>> start(
      const system::Path& program,
      const system::Path& socket,
      const system::Environment& environment);

  /// Once the ranks have ended. What it said to people; its report is written.
  [[nodiscard]] std::string end();

 private:
  NetworkProcess(system::Fd input, system::Process process)
      : input_(std::move(input)), process_(std::move(process)) {}

  system::Fd input_;  ///< It ends when this does, also where we die.
  system::Process process_;
};

}  // namespace cuco::targets
