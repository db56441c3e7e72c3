// SPDX-License-Identifier: Apache-2.0
// A path that a browser asks `cuco serve` for: it never leaves the folder of runs, and never fails.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/assert.h"
#include "dashboard/answers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const cuco::dashboard::Site kSite = [] {
    auto folder = std::filesystem::temp_directory_path() / "cuco-fuzz-runs";
    std::filesystem::create_directories(folder);
    return cuco::dashboard::Site{.root = folder};
  }();
  const std::string_view path(reinterpret_cast<const char*>(data), size);
  const auto answer = cuco::dashboard::answer(kSite, path);
  CUCO_ASSERT(answer.status == 200 || answer.status == 404 || answer.status == 500);
  return 0;
}
