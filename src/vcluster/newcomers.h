// SPDX-License-Identifier: Apache-2.0
/// \file
/// Processes of a run that the server has not heard of yet: a program that forks its ranks, or a
/// script that starts them, does not say how many will come.
#pragma once

#include <cstdint>
#include <set>

namespace cuco::vcluster {

/// Is there a process that was told of the server's socket, is none of `known`, and uses our CUDA
/// runtime or has not got so far as to show? Launchers (shells, mpirun) that only wait are none.
[[nodiscard]] bool newcomer_may_connect(int listener, const std::set<std::uint32_t>& known);

}  // namespace cuco::vcluster
