// SPDX-License-Identifier: Apache-2.0
/// \file
/// The winner as a folder that builds with plain nvcc and NCCL, without cuco.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidate/run_state.h"
#include "program/source.h"

namespace cuco::report {

/// program.cu, changes.diff, README.md, Makefile and include/cuco/workload.h (text given) for a
/// candidate. Of a program with main() it is under the program's own name, without that header.
[[nodiscard]] std::vector<program::File> export_folder(const candidate::RunState& state,
                                                       candidate::Number number,
                                                       std::string_view run,
                                                       std::string_view workload_header);

}  // namespace cuco::report
