// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the checker of a judged run saw, as part of a verdict.
#pragma once

#include <string>
#include <vector>

#include "candidate/outcome.h"
#include "check/finding/finding.h"

namespace cuco::judge {

/// As a verdict has them: both places, and in the message what else is known. Leaks are left
/// out: judged ranks are ended.
[[nodiscard]] std::vector<candidate::Finding> for_verdict(
    const std::vector<check::Finding>& findings);

/// Source lines and kernels as the candidate's author knows them: "program.cu:39", not where it was
/// built, and "gemm<float>", not nvcc's name for it. Both change from build to build.
[[nodiscard]] std::string as_in_the_source(std::string text);

}  // namespace cuco::judge
