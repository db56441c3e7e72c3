// SPDX-License-Identifier: Apache-2.0
#include "support/require.h"

#include <cstdlib>
#include <filesystem>

namespace cuco::tests {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool has_file(const std::string& folder, const char* name) {
  std::error_code error;
  return !folder.empty() && std::filesystem::exists(std::filesystem::path(folder) / name, error);
}

}  // namespace

bool is_required(std::string_view need) {
  return ("," + variable("CUCO_REQUIRE") + ",").find("," + std::string(need) + ",") !=
         std::string::npos;
}

bool has_nvcc() {
  for (std::string path = variable("PATH") + ":"; !path.empty();) {
    const std::size_t end = path.find(':');
    if (has_file(path.substr(0, end), "nvcc")) return true;
    path.erase(0, end + 1);
  }
  return has_file(variable("CUDA_HOME"), "bin/nvcc") ||
         has_file(variable("CUDA_PATH"), "bin/nvcc") || has_file("/usr/local/cuda", "bin/nvcc");
}

}  // namespace cuco::tests
