// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco tune`: the team that a proposer can be, and its rounds.
#pragma once

#include "base/result.h"
#include "candidate/run.h"
#include "cli/journey/proposers.h"
#include "search/search.h"

namespace cuco::cli {

/// A model plays all roles; the expert is a coder alone.
[[nodiscard]] Result<search::SearchResult> tune_program(candidate::Run& run,
                                                        const JourneyOptions& options,
                                                        const Situation& situation,
                                                        const ProposerSet& proposers);

}  // namespace cuco::cli
