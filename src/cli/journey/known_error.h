// SPDX-License-Identifier: Apache-2.0
/// \file
/// How sure predicted times are, said once beside them.
#pragma once

#include <string>

#include "candidate/run_state.h"

namespace cuco::cli {

/// What the hardware file says of its predictions; empty for measured times, and for a GPU whose
/// file is not here. `ranks`: of the program; one does not communicate.
[[nodiscard]] std::string known_error(const candidate::Scored& scored, int ranks);

/// The same of a run's times.
[[nodiscard]] std::string known_error(const candidate::RunState& state);

}  // namespace cuco::cli
