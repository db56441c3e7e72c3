// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/topology_file.h"

#include <filesystem>

#include <fmt/format.h>

namespace cuco::targets {

Result<system::Path> find_topology(const std::string& name) {
  std::error_code code;
  if (std::filesystem::is_regular_file(name, code)) return std::filesystem::absolute(name);
  auto found = system::find_data("topology/" + name + ".toml");
  if (found) return found;
  return Error{ErrorKind::NotFound,
               fmt::format("unknown topology (neither a file nor in topology/): {}", name)};
}

}  // namespace cuco::targets
