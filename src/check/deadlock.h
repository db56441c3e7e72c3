// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who waits when nothing can go on, as the checker needs to know it.
#pragma once

#include <string>
#include <variant>

#include "vgpu/gpu/wait.h"

namespace cuco::check {

struct OtherWait {};    ///< A host thread, a stream, a process: nothing a finding could be made of.
struct MissingRank {};  ///< A collective that waits for a rank that never calls it.

/// One of those that wait.
struct Waiter {
  std::string line;  ///< Who waits for what, for people.
  std::variant<OtherWait, MissingRank, vgpu::Wait> what;
};

}  // namespace cuco::check
