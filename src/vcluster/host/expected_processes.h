// SPDX-License-Identifier: Apache-2.0
/// \file
/// Processes of a run that the server has not heard of yet: a program that forks its ranks, or a
/// script that starts them, does not say how many will come.
#pragma once

#include <cstdint>
#include <set>

#include "system/os/fd.h"

namespace cuco::vcluster {

/// What processes that have the server's socket and are not among `known` do.
enum class ExpectedProcesses : std::uint8_t {
  None,     ///< There are none.
  Waiting,  ///< They sleep, as a shell does that may start more.
  Coming,   ///< One is busy, or has loaded our CUDA runtime.
};
[[nodiscard]] ExpectedProcesses find_expected_processes(const system::Fd& listener,
                                                        const std::set<std::uint32_t>& known);

}  // namespace cuco::vcluster
