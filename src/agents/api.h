// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL's device API as prompts show it: declarations from the installed headers, of the ways to
/// communicate that a program can use on its target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "design/rules.h"

namespace cuco::agents {

/// The text of a header below the include folder.
using ReadHeader = std::function<Result<std::string>(const std::string& name)>;

/// Empty for a program that does not communicate, and for a target without any of them.
[[nodiscard]] Result<std::string> device_api(const design::ProgramFacts& program,
                                             const design::TopologyFacts& topology,
                                             design::NcclVersion nccl,
                                             const ReadHeader& read);

/// The declarations of header texts, without comments, preprocessor lines, function bodies and
/// empty lines.
[[nodiscard]] std::string cut_api(const std::vector<std::string>& headers);

}  // namespace cuco::agents
