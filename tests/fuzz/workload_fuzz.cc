// SPDX-License-Identifier: Apache-2.0
// A workload.toml: any text is a workload, or an error that names the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "workload/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto workload = cuco::workload::parse_workload(text, "workload.toml");
  CUCO_ASSERT(workload || workload.error().message().find("workload.toml") != std::string::npos);
  return 0;
}
