// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/kernel_numbers.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cuco::analysis {
namespace {

bool is_whole_number(std::string type) {
  for (const std::string_view word : {"const ", "std::", "volatile "}) {
    for (auto at = type.find(word); at != std::string::npos; at = type.find(word))
      type.erase(at, word.size());
  }
  constexpr auto kTypes = std::to_array<std::string_view>(
      {"int", "unsigned", "unsigned int", "long", "unsigned long", "long long",
       "unsigned long long", "size_t", "ptrdiff_t", "int32_t", "uint32_t", "int64_t", "uint64_t"});
  return std::ranges::find(kTypes, trim(type)) != kTypes.end();
}

}  // namespace

ShapeParameters kernel_numbers(const Kernel* kernel, const vcluster::TracedStep& launch) {
  ShapeParameters out;
  for (const vcluster::TracedNumber& number : launch.numbers) {
    if (kernel == nullptr || number.parameter >= kernel->parameters.size()) continue;
    const KernelParameter& parameter = kernel->parameters[number.parameter];
    if (is_whole_number(parameter.type) && !parameter.name.empty())
      out.emplace_back(parameter.name, number.value);
  }
  constexpr auto kAxes = std::to_array<std::string_view>({"x", "y", "z"});
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
    out.emplace_back("blockDim." + std::string(kAxes[axis]), launch.block[axis]);
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
    out.emplace_back("gridDim." + std::string(kAxes[axis]), launch.grid[axis]);
  return out;
}

}  // namespace cuco::analysis
