// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waiting for several descriptors at once.
#pragma once

#include <chrono>
#include <span>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system {

struct Watched {
  int fd = -1;            ///< Negative: not watched.
  bool readable = false;  ///< There is something to read, or its end.
  bool closed = false;    ///< The other side has closed it.

  [[nodiscard]] bool is_ready() const { return readable || closed; }
};

/// Waits until one of them is ready; false: `timeout` has passed, or a signal came first.
[[nodiscard]] Result<bool> wait_for_any(std::span<Watched> list, std::chrono::milliseconds timeout);

/// A descriptor that is readable as soon as one of these is.
[[nodiscard]] Result<Fd> any_of(std::span<const int> fds);

}  // namespace cuco::system
