// SPDX-License-Identifier: Apache-2.0
#include "system/os/kernel.h"

#include <sys/random.h>
#include <unistd.h>

#include "system/os/os_error.h"

namespace cuco::system {

Result<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) return os_error("getrandom");
  return bytes;
}

bool is_root() {
  return ::geteuid() == 0;
}

}  // namespace cuco::system
