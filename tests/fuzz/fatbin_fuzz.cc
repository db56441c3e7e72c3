// SPDX-License-Identifier: Apache-2.0
// Any bytes are a fat binary, an executable, or an error.
#include <cstdint>
#include <span>

#include "ptx/container/cubin.h"
#include "ptx/container/executable.h"
#include "ptx/container/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  (void)cuco::ptx::ptx_of_fatbin(bytes, 90);
  (void)cuco::ptx::resources_of_fatbin(bytes, 90);
  (void)cuco::ptx::resources_of_cubin(bytes).has_value();
  if (const auto program = cuco::ptx::probe_executable(bytes)) {
    (void)cuco::ptx::reason_not_runnable(*program, 90);
  }
  return 0;
}
