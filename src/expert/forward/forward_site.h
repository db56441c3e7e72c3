// SPDX-License-Identifier: Apache-2.0
/// \file
/// An exchange whose sends the kernels can do that make the data, and why another one is not.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::forward {

struct ForwardSite {
  std::set<int> producers;           ///< Launches, by their operation.
  std::set<int> kernels;             ///< That they launch.
  std::set<int> openers;             ///< Launches before those, behind the plan.
  std::set<int> receivers;           ///< Buffers that peers write.
  std::size_t plan_at = 0;           ///< Where the plan goes: before the first of them.
  std::string calls;                 ///< The exchange, for the plan's closure.
  bool leaves = false;               ///< Nobody else touches what it sends: it need not stay here.
  std::set<std::size_t> sites = {};  ///< Of the graph: calls of one function are one text.
};

/// Who stores into the receivers' memory.
enum class Storer {
  Producers,  ///< The kernels that make the data.
  Exchange,   ///< The kernel in its place: straight, with no copy between.
};

/// How kernels of one stream come after each other.
enum class Order {
  AsWritten,
  SideBySide,  ///< Where nothing orders them: see lanes/. No kernel opens a round for others.
};

/// Holds what the order of operations and their buffers show; whether each
/// kernel's stores can be forwarded is asked later.
[[nodiscard]] Result<ForwardSite> find_forward_site(const analysis::CommunicationGraph& graph,
                                                    std::string_view text,
                                                    const analysis::Site& site,
                                                    Storer storer,
                                                    Order order);

}  // namespace cuco::expert::forward
