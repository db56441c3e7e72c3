// SPDX-License-Identifier: Apache-2.0
/// \file
/// What decides whether a kernel may be launched with another geometry.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "expert/kernels/reading/kernel_body.h"

namespace cuco::expert::kernels {

struct KernelFacts {
  bool shared = false;             ///< Threads of a block talk: shared memory, barriers, shuffles.
  bool atomics = false;            ///< How often it does something matters.
  bool sized_by_launch = false;    ///< Has shared memory of a size that the launch says.
  std::set<std::string> builtins;  ///< "threadIdx.x", …, also in functions that it calls.
  std::set<std::string> in_callees;  ///< Those that are used there, or as a whole.
  std::set<std::string> in_macros;   ///< Those that the kernel's text does not show.
  /// Arrays whose subscripts hold threadIdx.x, with their sizes (0: not known).
  std::map<int, long long> per_thread;
};

[[nodiscard]] KernelFacts find_facts(const KernelBody& kernel, std::string_view text);

}  // namespace cuco::expert::kernels
