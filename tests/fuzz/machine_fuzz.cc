// SPDX-License-Identifier: Apache-2.0
// Descriptions of GPUs and of clusters: any text is one of them, or an error that names the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto gpu = cuco::hardware::parse_gpu_description(text, "gpu.toml");
  CUCO_ASSERT(gpu || gpu.error().message().find("gpu.toml") != std::string::npos);
  const auto topology = cuco::fabric::parse_topology(text, "ib.toml");
  CUCO_ASSERT(topology || topology.error().message().find("ib.toml") != std::string::npos);
  return 0;
}
