// SPDX-License-Identifier: Apache-2.0
#include "system/os/os_error.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace cuco::system {

namespace {

/// What a name can be to blame for is input: another name mends it.
ErrorKind kind_of(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::NotFound;
    case EACCES:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EROFS:
    case ENXIO:  // a pipe that nobody reads, a terminal that is not there
      return ErrorKind::InvalidInput;
    default:
      return ErrorKind::Io;
  }
}

}  // namespace

Error os_error(std::string_view operation, int code) {
  return {kind_of(code), fmt::format("{}: {}", operation, std::generic_category().message(code))};
}

}  // namespace cuco::system
