// SPDX-License-Identifier: Apache-2.0
#include "system/os/os_error.h"

#include <system_error>

#include <fmt/format.h>

namespace cuco::system {

Error os_error(std::string_view operation, int code) {
  const ErrorKind kind = code == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
  return {kind, fmt::format("{}: {}", operation, std::generic_category().message(code))};
}

}  // namespace cuco::system
