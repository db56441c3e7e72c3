// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modules and instructions back to PTX text.
#pragma once

#include <string>

#include "ptx/module.h"

namespace cuco::ptx {

/// The module as PTX that parses to the same module and that ptxas takes: after link(), one text
/// for a program that was several. Scopes are gone, so names that were hidden by others get a
/// number; source lines stay, the chain of inlined calls does not.
[[nodiscard]] std::string print(const Module& module);

/// One instruction as in print(), e.g. for a trace: "@%p1 ld.global.u32 %r1, [%rd2+4];". Names are
/// as declared.
[[nodiscard]] std::string print(const Module& module,
                                const Function& function,
                                const Instruction& instruction);

}  // namespace cuco::ptx
