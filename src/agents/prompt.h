// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prompts, from the templates in prompts/ and what is known about the problem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidate/proposer.h"
#include "design/rules.h"

namespace cuco::agents {

/// What stays the same for a run.
struct Problem {
  std::string summary;   ///< The workload in a sentence or two.
  std::string target;    ///< Machine and topology.
  std::string analysis;  ///< analysis::to_text() of the seed.
  std::string api;       ///< See cut_api().
  design::ProgramFacts program;
  design::TopologyFacts topology;
  design::NcclVersion nccl;
};

[[nodiscard]] std::string system_prompt();
[[nodiscard]] std::string proposal_prompt(const Problem& problem, const candidate::Task& task);

/// Bytes at the begin of every proposal_prompt() that do not depend on the task: services that
/// cache prompts are told.
[[nodiscard]] std::size_t shared_prefix(const Problem& problem);

/// The declarations of header texts, without comments, preprocessor lines and empty lines.
[[nodiscard]] std::string cut_api(const std::vector<std::string>& headers);

/// The headers (below CUDA's include folder) that cut_api() wants, for LSA designs.
[[nodiscard]] std::vector<std::string> api_headers();

}  // namespace cuco::agents
