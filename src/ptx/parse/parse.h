// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX text to Module, and Modules to one Module.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace cuco::ptx {

/// Parses PTX 7.0 to 9.0 as nvcc emits it. An error names the line: "line 12: expected ';'".
/// Unknown opcodes and modifiers are kept (Opcode::Unknown, Modifier::Unknown), not refused.
[[nodiscard]] Result<Module> parse(std::string_view text);

/// Links separately compiled modules (`-rdc=true`): .extern meets .visible, .weak and .common
/// merge, internal names stay apart. Functions that stay undefined (vprintf, malloc…) are kept as
/// declarations; an undefined variable or two strong definitions are an error.
[[nodiscard]] Result<Module> link(std::vector<Module> modules);

}  // namespace cuco::ptx
