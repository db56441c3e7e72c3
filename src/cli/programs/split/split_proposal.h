// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a program with main() could become a workload with fresh inputs and an oracle: a proposal
/// for people, from what the analysis found. Nothing of it is taken for granted.
#pragma once

#include <string>

#include "analysis/communication_graph.h"

namespace cuco::cli {

struct SplitSubject {
  std::string name;     ///< Of the workload.
  std::string program;  ///< The file's name.
  int ranks = 0;
  std::string topology;
};

/// Markdown: parameters, buffers with their roles, what goes into which entry point, a draft of
/// workload.toml, what the oracle has to compute, and what to check.
[[nodiscard]] std::string split_proposal(const analysis::CommunicationGraph& graph,
                                         const SplitSubject& subject);

}  // namespace cuco::cli
