// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program on real GPUs with the machine's own CUDA and NCCL: alone, or under mpirun on this
/// machine or on those of a host file. Nothing of ours is in the program's processes.
#pragma once

#include <string>
#include <vector>

#include "targets/real/real_run.h"

namespace cuco::targets {

struct ClusterOptions {
  int ranks = 1;
  bool uses_mpi = false;
  int per_node = 0;                    ///< Ranks of each host; 0: as the host file's slots say.
  system::Path hostfile = {};          ///< Empty: this machine.
  std::vector<std::string> tool = {};  ///< In front of the program, such as compute-sanitizer.
};

/// `libraries`: folders of the machine's CUDA and NCCL, searched after those of the environment.
[[nodiscard]] RealStart cluster_start(const ClusterOptions& options,
                                      const std::vector<system::Path>& libraries,
                                      const std::vector<std::string>& program,
                                      system::Environment environment);

/// Of the toolkit and NCCL that programs are built with here.
[[nodiscard]] std::vector<system::Path> real_libraries(const system::Environment& environment);

}  // namespace cuco::targets
