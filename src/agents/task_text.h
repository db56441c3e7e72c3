// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a prompt says of a task: the history, the parent with its verdict, the last failure, others
/// worth a look, and what is wanted. Without headings.
#pragma once

#include <string>

#include "candidate/task.h"

namespace cuco::agents {

/// What was tried: design, reason, size of the change, times, and what was wrong; those that say
/// the same are one. `newest`: only so many; 0: all.
[[nodiscard]] std::string history_text(const candidate::History& history, std::size_t newest = 0);

/// Its design, its verdict with the profile of every timed shape, and the text of hot lines.
[[nodiscard]] std::string parent_text(const candidate::Task& task);

/// The parent if it is to be repaired, else the last candidate that failed: what it changed, and
/// what was found. Empty: nothing has failed.
[[nodiscard]] std::string failure_text(const candidate::Task& task);

/// The inspirations with their verdicts; their code where it is to be joined.
[[nodiscard]] std::string others_text(const candidate::Task& task);

[[nodiscard]] std::string source_text(const candidate::Task& task);

/// What to do, with the plan to follow.
[[nodiscard]] std::string wish_text(const candidate::Task& task);

}  // namespace cuco::agents
