// SPDX-License-Identifier: Apache-2.0
/// \file
/// From CUDA source to its communication graph.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "system/os/files.h"

namespace cuco::analysis {

struct AnalysisOptions {
  system::Path cuda;                        ///< CUDA's folder; empty: see toolchain/cuda_toolkit.h.
  std::vector<system::Path> include_paths;  ///< For the workload's own headers.
  /// Of nvcc; the parser takes macros (-D, -U) and folders (-I) from them.
  std::vector<std::string> flags = {};
};

/// Parses `text` (shown as `name` in messages). NotFound names the package when the parser is not
/// installed; errors in the source are in the graph's `problems`, the rest of it is still there.
[[nodiscard]] Result<CommunicationGraph> analyse(std::string_view name,
                                                 std::string_view text,
                                                 const AnalysisOptions& options);

}  // namespace cuco::analysis
