// SPDX-License-Identifier: Apache-2.0
/// \file
/// errno as an Error.
#pragma once

#include <cerrno>
#include <string_view>

#include "base/result.h"

namespace cuco::system {

/// "operation: No such file or directory". ENOENT is NotFound, all else is Io.
[[nodiscard]] Error os_error(std::string_view operation, int code = errno);

}  // namespace cuco::system
