// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waits for whichever of many descriptors has something to read.
#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system {

/// Moves; does not copy. It does not own what it watches: remove a descriptor before closing it.
class Poller {
 public:
  [[nodiscard]] static Result<Poller> create();

  [[nodiscard]] Result<void> add(int fd);
  void remove(int fd);
  /// Those that have something to read, or whose other end is closed; empty: the time ran out, or
  /// a signal came.
  [[nodiscard]] Result<std::vector<int>> wait(std::chrono::milliseconds timeout);

 private:
  explicit Poller(Fd poller) : poller_(std::move(poller)) {}
  Fd poller_;
};

}  // namespace cuco::system
