// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/machine_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::targets {
namespace {

Error unknown_data(std::string_view kind, const std::string& name) {
  const auto names = machine_names(kind == "GPU" ? "hardware" : "topology");
  const auto near = nearest(name, names);
  return {ErrorKind::NotFound,
          fmt::format("no {} '{}'{}; give a file, or one of {}", kind, name,
                      near ? fmt::format(" (did you mean '{}'?)", *near) : "", join(names, ", "))};
}

}  // namespace

std::vector<std::string> machine_names(const std::string& folder) {
  std::vector<std::string> names;
  const auto found = system::find_data(folder);
  std::error_code code;
  if (!found) return names;
  for (const auto& entry : std::filesystem::directory_iterator(*found, code)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<system::Path> find_topology(const std::string& name) {
  std::error_code code;
  if (std::filesystem::is_regular_file(name, code)) return std::filesystem::absolute(name);
  auto found = system::find_data("topology/" + name + ".toml");
  if (found) return found;
  return unknown_data("topology", name);
}

Result<system::Path> find_hardware(const std::string& name) {
  std::error_code code;
  if (std::filesystem::is_regular_file(name, code)) return std::filesystem::absolute(name);
  auto found = system::find_data("hardware/" + name + ".toml");
  if (found) return found;
  return unknown_data("GPU", name);
}

}  // namespace cuco::targets
