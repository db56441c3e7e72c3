// SPDX-License-Identifier: Apache-2.0
/// \file
/// How sure predicted times are, said once beside them.
#pragma once

#include <string>

#include "candidate/run_state.h"

namespace cuco::report {

/// What the hardware file of a GPU ("h200", or a path) says of its predictions; empty where the
/// file is not here. `machine`: "4 x NVIDIA H200", as a run has it; one GPU does not communicate.
[[nodiscard]] std::string known_error(const std::string& gpu, const std::string& machine);

/// The same of a verdict's times; empty where they were measured. `ranks`: of the program.
[[nodiscard]] std::string known_error(const candidate::Scored& scored, int ranks);

/// The same of a run's times.
[[nodiscard]] std::string known_error(const candidate::RunState& state);

}  // namespace cuco::report
