// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where an all-gather stands in a split workload's program: everything the designs need to know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/syntax_query.h"
#include "base/result.h"
#include "expert/state_home.h"

namespace cuco::expert {

/// A kernel that makes the data, where it is launched, and how it is laid out.
struct Producer {
  const analysis::Kernel* kernel = nullptr;
  const analysis::Launch* launch = nullptr;
  std::string name;
  std::string attributes;  ///< " __launch_bounds__(…)" or empty.
  std::size_t name_begin = 0;
  std::size_t output = 0;  ///< Index of the parameter that is written.
  std::string element;     ///< "float".
  std::string tile_rows;   ///< "kTile": block y computes rows [y * tile_rows, …).
};

/// Points into the graph and the text, which must outlive it.
struct GatherSite {
  std::string_view text;
  const analysis::CommunicationGraph* graph = nullptr;
  const analysis::Collective* collective = nullptr;
  std::vector<Producer> producers;

  StateHome home;
  const analysis::Function* launcher = nullptr;  ///< Launches the producers.
  analysis::CallSite launcher_call;              ///< In the function that holds the collective.

  std::string offset;  ///< Of this rank's slice in the receive buffer, in bytes; in run's terms.
  std::string bytes;   ///< Of the slice.
  std::string rows;    ///< Of the slice, in run's terms; empty if the grid does not show it.
  std::string tile;    ///< Rows per block in the launcher's terms.
  std::string launcher_rows;  ///< `rows` in the launcher's terms.
  std::string grid;           ///< The launcher's grid variable.
};

/// Finds the program's one all-gather. The error says what is not as the designs expect it.
[[nodiscard]] Result<GatherSite> find_gather_site(const analysis::CommunicationGraph& graph,
                                                  std::string_view text);

}  // namespace cuco::expert
