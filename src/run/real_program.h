// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --on gpu|loopback|cluster`: a program on real GPUs, built for what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/command.h"
#include "fabric/topology.h"
#include "run/delay_probe.h"
#include "system/os/files.h"

namespace cuco::run {

/// The flags of `cuco run` about real GPUs.
struct RealFlags {
  system::Path hostfile;
  std::string sanitize;

  void declare(cli::Arguments& arguments);
};

struct RealRequest {
  std::string target;  ///< gpu, loopback or cluster.
  std::vector<system::Path> programs;
  std::vector<std::string> arguments;
  std::vector<std::string> nvcc_flags;
  std::string topology;  ///< A name or a file; empty: none.
  std::optional<int> ranks;
  std::optional<int> per_node;
  RealFlags real;
  ProbeFlags probe;
};

/// Exit code 3 with one sentence where this machine lacks something.
[[nodiscard]] Result<cli::ExitCode> run_real_program(cli::Context& context,
                                                     const RealRequest& request);

/// The first multimem operation that a text asks for, as "ncclGetLsaMultimemPointer" or an
/// instruction of inline PTX; empty: none. Comments do not count, nor what is switched off.
[[nodiscard]] std::string multimem_use(std::string_view text);

}  // namespace cuco::run
