// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Multi-Process Service of our own, for processes that share a GPU at the same time. One for
/// each run: a client that was killed can leave a daemon that serves nobody any more.
#pragma once

#include <memory>

#include "base/result.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::targets {

class MpsDaemon {
 public:
  /// Waits until it takes clients. `control`: nvidia-cuda-mps-control.
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> start(
      const system::Path& control, const system::Environment& environment);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  /// Asks it to end, and ends it and its servers if it does not.
  ~MpsDaemon();

  /// Its clients' variables.
  void add_to(system::Environment* environment) const;

 private:
  MpsDaemon(system::Path control, system::TempFolder folder, system::Process process)
      : control_(std::move(control)), folder_(std::move(folder)), process_(std::move(process)) {}

  system::Path control_;
  system::TempFolder folder_;  ///< Its pipes and logs.
  system::Process process_;
};

}  // namespace cuco::targets
