// SPDX-License-Identifier: Apache-2.0
// Any text is parsed or refused with a line. What was parsed can be planned, linked, and printed as
// text that parses again and prints the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/flow/liveness.h"
#include "ptx/parse/parse.h"
#include "ptx/print.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = cuco::ptx::parse(text);
  if (!module) {
    if (!module.error().message().starts_with("line ")) std::abort();
    return 0;
  }
  for (const cuco::ptx::Function& function : module->functions) {
    (void)cuco::ptx::plan_registers(function);
  }
  const std::string printed = cuco::ptx::print(*module);
  const auto again = cuco::ptx::parse(printed);
  if (!again) {
    std::fprintf(stderr, "%s\n%s\n", again.error().message().c_str(), printed.c_str());
    std::abort();
  }
  if (cuco::ptx::print(*again) != printed) std::abort();
  std::vector<cuco::ptx::Module> modules(2, *module);
  (void)cuco::ptx::link(std::move(modules));
  return 0;
}
