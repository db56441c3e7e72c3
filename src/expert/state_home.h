// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a split workload keeps what lives from set-up to teardown, and how each of its functions
/// reaches it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/syntax_query.h"
#include "base/result.h"

namespace cuco::expert {

/// Points into the graph, which must outlive it.
struct StateHome {
  const analysis::Record* record = nullptr;
  const analysis::Function* setup = nullptr;  ///< The functions behind the workload's entry points.
  const analysis::Function* run = nullptr;
  const analysis::Function* teardown = nullptr;
  std::string context;  ///< The record's member that is the workload's context.

  // What stands before a member's name in each function: "state.", "state->", "(*state)->".
  std::string in_setup, in_run, in_teardown;
  std::string setup_context;  ///< The context in set-up.

  // Parameters of `run`, by what cuco_run passes: numbers, and their names.
  std::size_t state_parameter = 0, set_parameter = 0, stream_parameter = 0;
  std::string set, stream;
};

/// The error says what is not as the designs need it.
[[nodiscard]] Result<StateHome> find_state_home(const analysis::CommunicationGraph& graph);

/// How one of the variables leads to an object of the type: "state.", "state->" or "(*state)->"
/// before a member's name. Empty: none does.
[[nodiscard]] std::string access_through(const analysis::Syntax& syntax,
                                         const std::vector<int>& variables,
                                         std::string_view type);

/// "state->" becomes "*state": the object itself.
[[nodiscard]] std::string object_before(const std::string& access);

}  // namespace cuco::expert
