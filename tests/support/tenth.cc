// SPDX-License-Identifier: Apache-2.0
#include "support/tenth.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace cuco::tests {
namespace {

/// FNV-1a. Not std::hash, which may differ between libraries.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char letter : text)
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return value;
}

}  // namespace

std::vector<std::string> tenth_of(std::vector<std::string> names, int which) {
  std::ranges::sort(names, {}, [](const auto& name) { return std::pair(hash(name), name); });
  std::vector<std::string> kept;
  for (auto i = static_cast<std::size_t>(which); i < names.size(); i += 10)
    kept.push_back(names[i]);
  std::ranges::sort(kept);
  return kept;
}

std::vector<std::string> chosen_tenth(std::vector<std::string> names) {
  const char* which = std::getenv("CUCO_TENTH");
  return which == nullptr ? names : tenth_of(std::move(names), std::atoi(which) % 10);
}

}  // namespace cuco::tests
