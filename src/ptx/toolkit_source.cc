// SPDX-License-Identifier: Apache-2.0
#include "ptx/toolkit_source.h"

#include <algorithm>
#include <array>

namespace cuco::ptx {

bool is_of_toolkit(std::string_view file) {
  constexpr std::string_view kFolder = "/include/";
  constexpr std::array<std::string_view, 9> kHeaders = {
      "cuda", "crt/", "cccl/", "cub/", "thrust/", "nv/", "cooperative_groups", "nccl", "sm_"};
  const std::size_t folder = file.rfind(kFolder);
  if (folder == std::string_view::npos) return false;
  // nvcc names its own headers by TOOLKIT/bin/../targets/PLATFORM/include.
  if (file.substr(0, folder).find("/targets/") != std::string_view::npos) return true;
  const std::string_view header = file.substr(folder + kFolder.size());
  return std::ranges::any_of(kHeaders,
                             [&](std::string_view start) { return header.starts_with(start); });
}

}  // namespace cuco::ptx
