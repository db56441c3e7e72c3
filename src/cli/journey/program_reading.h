// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program, alone or in a workload's folder, read and analysed: what all commands say of one that
/// they cannot take.
#pragma once

#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "design/rules.h"
#include "system/os/files.h"

namespace cuco::cli {

struct ReadProgram {
  std::string name;      ///< Of the file or the workload.
  std::string topology;  ///< Of the workload; empty for a file.
  int ranks = 0;         ///< Of the workload; 0 for a file.
  std::string text;      ///< What was analysed.
  analysis::CommunicationGraph graph;
};

/// "silu_and_mul" and "workloads/silu_and_mul" are the ones that come with cuco where nothing here
/// has that name; any other path as it is.
[[nodiscard]] system::Path or_shipped(const system::Path& path);

/// The names of those, sorted.
[[nodiscard]] std::vector<std::string> shipped_workloads();

/// One sentence for what is neither a file nor a workload's folder.
[[nodiscard]] Result<void> check_exists(const system::Path& path);

/// InvalidInput, one sentence, for what is not CUDA or does not compile. `flags`: of nvcc.
[[nodiscard]] Result<ReadProgram> read_program(const system::Path& path,
                                               const std::vector<std::string>& includes = {},
                                               const std::vector<std::string>& flags = {});

/// The same for the sources of one program, the one with main() first: each must compile by itself,
/// and those that communicate are analysed as one text.
[[nodiscard]] Result<ReadProgram> read_program(const std::vector<system::Path>& files,
                                               const std::vector<std::string>& includes,
                                               const std::vector<std::string>& flags);

/// The same for files in any order, which is mended.
[[nodiscard]] Result<ReadProgram> read_sources(std::vector<system::Path>& files,
                                               const std::vector<std::string>& includes,
                                               const std::vector<std::string>& flags);

/// The graph of a text that was made from these files; problems are in it.
[[nodiscard]] Result<analysis::CommunicationGraph> analyse_text(
    const std::vector<system::Path>& files,
    const std::string& text,
    const std::vector<std::string>& includes,
    const std::vector<std::string>& flags);

/// Where the headers of a file are: beside it, and in the folders that are named.
[[nodiscard]] std::vector<system::Path> include_folders(const system::Path& file,
                                                        const std::vector<std::string>& named);

/// What the design rules need to know of a cluster in topology/.
[[nodiscard]] Result<design::TopologyFacts> topology_facts(const std::string& name, int ranks);

}  // namespace cuco::cli
