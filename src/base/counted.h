// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of things, as people read them.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace cuco {

/// "1 shape", "2 shapes".
[[nodiscard]] std::string counted(std::integral auto number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace cuco
