// SPDX-License-Identifier: Apache-2.0
// Any text is parsed or refused with a line; what was parsed can be linked.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = cuco::ptx::parse(text);
  if (!module) {
    if (!module.error().message().starts_with("line ")) std::abort();
    return 0;
  }
  std::vector<cuco::ptx::Module> modules(2, *module);
  (void)cuco::ptx::link(std::move(modules));
  return 0;
}
