// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prompts, from the templates in prompts/ and what is known.
///
/// A template names its sections: {{program}}, {{contract}}, {{target}}, {{analysis}}, {{blocks}},
/// {{space}}, {{strategy}}, {{api}}, {{example}} are the same for a run; {{history}}, {{failure}},
/// {{others}}, {{notes}}, {{parent}}, {{source}}, {{task}} belong to a task. A section comes with
/// its heading, and without anything to say it is left out.
///
/// A prompt that would be too long loses, in this order: the example, what blocks touch, others'
/// work, the older half of the history, the analysis of the seed, the API, the strategy notes, the
/// rest of the history. What it lost is said in its last line. Contract, target, parent, failure,
/// source and task always stay.
#pragma once

#include <string>
#include <string_view>

#include "agents/problem.h"
#include "agents/role.h"
#include "base/result.h"
#include "candidate/task.h"

namespace cuco::agents {

struct Prompt {
  std::string system;
  std::string text;
  std::size_t shared_prefix = 0;  ///< Bytes that do not depend on the task.
};

/// What the role is asked for this task.
[[nodiscard]] Prompt make_prompt(const Role& role,
                                 const Problem& problem,
                                 const candidate::Task& task);

/// Whether a workload's own template can be filled: InvalidInput names the placeholder that is
/// none.
[[nodiscard]] Result<void> check_template(std::string_view text);

/// About as many tokens as a text has; code has more than prose.
[[nodiscard]] std::int64_t tokens_of(std::size_t bytes);

}  // namespace cuco::agents
