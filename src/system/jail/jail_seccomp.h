// SPDX-License-Identifier: Apache-2.0
/// \file
/// The system calls that no honest job makes, refused by seccomp and reported to the keeper.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system::jail {

/// Installs the filter on this process and its children; needs no_new_privs. Gives the descriptor
/// on which refused calls arrive, or none where the kernel allows no further listener (then calls
/// are refused without a report).
[[nodiscard]] Result<std::optional<Fd>> refuse_forbidden_calls();

/// Answers one waiting call with EPERM and names it; nothing if none was waiting.
[[nodiscard]] std::optional<std::string> refuse_next_call(const Fd& listener);

}  // namespace cuco::system::jail
