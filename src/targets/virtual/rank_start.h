// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a program's ranks are started: one process that sees all devices, or one process per rank
/// under mpirun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "system/os/environment.h"
#include "targets/virtual/program_run.h"

namespace cuco::targets {

struct RankStart {
  std::vector<std::string> argv;
  system::Environment environment;
  std::optional<system::SandboxSpec> sandbox;  ///< Absent: it is the user's own program.
  system::Limits limits;
};

/// Starts `program` as it is.
[[nodiscard]] Result<RankStart> start_as_one(const ServerProcess& server,
                                             std::vector<std::string> program);

/// Starts `ranks` processes of a program that links MPI, with the real mpirun. The host library and
/// its MPI half are loaded into the ranks only.
[[nodiscard]] Result<RankStart> start_under_mpi(const ServerProcess& server,
                                                const std::vector<std::string>& program,
                                                std::uint32_t ranks);

/// Puts the ranks into a sandbox in which they see their program, our libraries and the server's
/// socket; `program` is the file that runs, also under mpirun.
[[nodiscard]] Result<RankStart> fenced(RankStart start,
                                       const ServerProcess& server,
                                       const system::Path& program,
                                       system::Tier tier);

}  // namespace cuco::targets
