// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fast path as the journey takes it: with the expert's steps, and the parser as the witness
/// that no host collective is left.
#pragma once

#include "base/result.h"
#include "candidate/run.h"
#include "cli/journey/proposers.h"
#include "search/search.h"

namespace cuco::cli {

/// The expert's steps, or the transformer's where only models are asked; nothing for a program that
/// does not communicate. The slow path starts from what comes of it, also where that is not faster
/// than the seed.
[[nodiscard]] Result<void> walk_fast_path(candidate::Run& run,
                                          const Situation& situation,
                                          const ProposerSet& proposers,
                                          search::SearchOptions* race);

}  // namespace cuco::cli
