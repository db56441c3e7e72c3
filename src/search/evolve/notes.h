// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a run has taught so far, in a few sentences made of its statistics.
#pragma once

#include <string>
#include <vector>

#include "search/evolve/search_memory.h"

namespace cuco::search {

/// The fastest, what each other region has reached, where candidates fail and of what, and which
/// way of asking has paid. Empty when there is nothing to tell.
[[nodiscard]] std::vector<std::string> notes_from(const candidate::Run& run,
                                                  candidate::Rung rung,
                                                  const Memory& memory);

}  // namespace cuco::search
