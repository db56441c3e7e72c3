// SPDX-License-Identifier: Apache-2.0
#include "design/kernel_design.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::design {
namespace {

/// A dimension with a number: where it is kept, and what stands behind the number.
struct Numbered {
  int KernelDesign::* value;
  std::string_view unit;
};

constexpr std::array kNumbered{Numbered{&KernelDesign::vector_bytes, "-byte vectors"},
                               Numbered{&KernelDesign::rounds, "-round registers"},
                               Numbered{&KernelDesign::threads, " threads"},
                               Numbered{&KernelDesign::blocks_per_row, " blocks a row"},
                               Numbered{&KernelDesign::rows_per_block, " rows a block"}};

/// A dimension that is there or not.
struct Flag {
  bool KernelDesign::* value;
  std::string_view name;
};

constexpr std::array kFlags{Flag{&KernelDesign::shuffles, "shuffles"},
                            Flag{&KernelDesign::fast_math, "fast math"},
                            Flag{&KernelDesign::read_only, "read-only loads"},
                            Flag{&KernelDesign::fitted, "fitted launches"}};
constexpr int kMost = 4096;

}  // namespace

std::string to_text(const KernelDesign& design) {
  std::vector<std::string> parts;
  for (const auto& dimension : kNumbered) {
    if (design.*dimension.value != 0)
      parts.push_back(fmt::format("{}{}", design.*dimension.value, dimension.unit));
  }
  for (const auto& flag : kFlags) {
    if (design.*flag.value) parts.emplace_back(flag.name);
  }
  return join(parts, " · ");
}

bool read_part(std::string_view part, KernelDesign& design) {
  for (const auto& flag : kFlags) {
    std::string spaced(flag.name);
    std::ranges::replace(spaced, '-', ' ');
    if ((part == flag.name || part == spaced) && !(design.*flag.value))
      return design.*flag.value = true;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc() || number <= 0 || number > kMost) return false;
  const std::string_view unit(end, static_cast<std::size_t>(part.data() + part.size() - end));
  for (const auto& dimension : kNumbered) {
    std::string spaced(dimension.unit);
    if (spaced.starts_with('-')) spaced[0] = ' ';
    if ((unit != dimension.unit && unit != spaced) || design.*dimension.value != 0) continue;
    design.*dimension.value = number;
    return true;
  }
  return false;
}

}  // namespace cuco::design
