// SPDX-License-Identifier: Apache-2.0
/// \file
/// A plan to split a program, written out: the files of the workload's folder.
#pragma once

#include <string>
#include <string_view>

#include "cli/programs/split/split_plan.h"
#include "cli/programs/split/split_proposal.h"

namespace cuco::cli {

[[nodiscard]] std::string split_program(const SplitPlan& plan,
                                        std::string_view text,
                                        const SplitSubject& subject);

/// The program's own computation, run on the host in double precision by cuco/oracle_device.h.
[[nodiscard]] std::string split_oracle(const SplitPlan& plan,
                                       std::string_view text,
                                       const SplitSubject& subject);

[[nodiscard]] std::string split_description(const SplitPlan& plan, const SplitSubject& subject);

[[nodiscard]] std::string split_readme(const SplitPlan& plan, const SplitSubject& subject);

}  // namespace cuco::cli
