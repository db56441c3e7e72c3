// SPDX-License-Identifier: Apache-2.0
#include "system/os/open_file.h"

#include <fcntl.h>

#include "system/os/os_error.h"

namespace cuco::system {
namespace {

Result<Fd> open_with(const Path& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.is_open()) return os_error("open " + path.string());
  return fd;
}

}  // namespace

Result<Fd> open_to_read(const Path& path) {
  return open_with(path, O_RDONLY);
}

Result<Fd> open_to_append(const Path& path) {
  return open_with(path, O_WRONLY | O_CREAT | O_APPEND);
}

}  // namespace cuco::system
