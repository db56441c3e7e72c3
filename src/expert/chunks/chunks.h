// SPDX-License-Identifier: Apache-2.0
/// \file
/// All-gathers that the kernels send that make the data, chunk by chunk while they compute: see
/// emit/device/cuco_gather.cuh for how and why it is safe.
///
/// Which blocks complete a chunk is what runs of the program have shown, as a formula of the
/// kernel's own parameters. What is gathered is known before the kernels start, so the exchange's
/// own code runs once more to plan it, without doing anything; in its place nothing is left to do.
/// The rest of the program's communication becomes kernels of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/trace/observed_map.h"
#include "base/result.h"
#include "expert/standalone/collectives_header.h"

namespace cuco::expert::chunks {

struct ChunkDesign {
  design::Backend backend = design::Backend::Lsa;
  ChunkKnobs knobs = {};
  bool recorded = false;  ///< One CUDA graph per buffer set of a workload, replayed.
};

struct Chunked {
  std::string program;               ///< One file.
  int sites = 0;                     ///< All-gathers that kernels do.
  std::vector<std::string> refused;  ///< Other sites, with the reasons.
};

/// Fails where no all-gather can be done by the kernels, with the reasons.
[[nodiscard]] Result<Chunked> gather_in_producers(const analysis::CommunicationGraph& graph,
                                                  std::span<const analysis::ObservedMap> maps,
                                                  std::string_view text,
                                                  const ChunkDesign& design);

}  // namespace cuco::expert::chunks
