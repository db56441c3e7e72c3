// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two things that only the kernel knows.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace cuco::system {

/// Random bytes that nobody can predict.
[[nodiscard]] Result<std::string> random_bytes(std::size_t count);

/// Whether this process runs as root.
[[nodiscard]] bool is_root();

}  // namespace cuco::system
