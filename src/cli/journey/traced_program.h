// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program that was run on the virtual cluster to see which blocks touch which bytes, and what
/// follows from it: what `cuco analyze` shows beside the source's own graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/observed_map.h"
#include "analysis/trace/observed_overlap.h"
#include "base/result.h"
#include "system/os/files.h"

namespace cuco::cli {

struct TraceRequest {
  system::Path program;                   ///< A source with main(), or a workload's folder.
  std::vector<system::Path> others = {};  ///< Its other sources.
  int ranks = 4;                          ///< Of a source.
  std::vector<std::string> includes, flags, arguments;
  std::function<void(std::string_view)> progress;
};

struct Observations {
  std::vector<analysis::ObservedMap> maps;
  std::vector<analysis::ObservedOverlap> overlaps;  ///< By site, of the last shape that has it.
  std::string gpu;                                  ///< What times are predicted for.
  std::vector<std::string> left_out;  ///< What there was no room for, a sentence each.
};

/// InvalidInput, in one sentence, where the program does not run to a good end. Interrupts are
/// noticed while an InterruptScope of the caller's is alive.
[[nodiscard]] Result<Observations> observe(const TraceRequest& request,
                                           const analysis::CommunicationGraph& graph);

}  // namespace cuco::cli
