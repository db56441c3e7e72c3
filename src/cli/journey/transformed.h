// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program that `cuco transform` has given its own collectives: as it is judged, and as it is
/// written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "candidate/evaluator.h"
#include "program/source.h"
#include "system/os/files.h"

namespace cuco::cli {

struct Transformed {
  std::string judged;                   ///< One file.
  std::vector<program::File> files;     ///< The program, its headers, and changes.diff last.
  std::map<std::string, int> replaced;  ///< NCCL's functions, and how often they were named.
};

/// All ranks in one node store to each other; otherwise the network card takes part.
[[nodiscard]] Result<design::Backend> usual_backend(const candidate::Target& target);

/// A program with a main() of its own: beside it are headers. `overlap`: what its analysis says,
/// where what nothing orders is to run side by side.
[[nodiscard]] Result<Transformed> transform_whole(
    const std::string& name,
    const std::string& source,
    design::Backend backend,
    const analysis::CommunicationGraph* overlap = nullptr);

/// The program of a split workload's folder: headers are in its evolve regions.
[[nodiscard]] Result<Transformed> transform_split(const system::Path& workload,
                                                  const std::string& source,
                                                  design::Backend backend,
                                                  bool overlap = false);

}  // namespace cuco::cli
