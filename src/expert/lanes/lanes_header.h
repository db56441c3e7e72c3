// SPDX-License-Identifier: Apache-2.0
/// \file
/// The header of a program whose work runs on several lanes: the lanes themselves, and functions of
/// CUDA's and NCCL's signatures for what it calls of those.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cuco::expert::lanes {

struct Design {
  /// The messages of a group leave as soon as what they carry is there, pair by pair in their
  /// order; otherwise a group is one operation.
  bool in_rounds = false;
  /// Kernels may send what they store (forward/): an exchange is a hazard to those that do.
  bool forwards = false;
};

/// A split workload has lanes in its run; a program with main() has them everywhere, and is joined
/// where it looks at a stream.
enum class Subject { SplitWorkload, WholeProgram };

/// What takes the place of a call in the program, in namespace cuco; empty for one that stays.
[[nodiscard]] std::string drop_in_for(std::string_view name, Subject subject);

/// Text for the file. `calls` are those of the program that have a drop-in.
[[nodiscard]] std::string lanes_header(const std::set<std::string_view>& calls,
                                       const Design& design,
                                       Subject subject);

}  // namespace cuco::expert::lanes
