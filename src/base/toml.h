// SPDX-License-Identifier: Apache-2.0
/// \file
/// TOML from outside, read safely. Include this instead of toml++: its macros have to be the same
/// everywhere, and the implementation is compiled once, in toml.cc.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cuco {
/// toml++ 3.3 asserts on some malformed inputs ("[.x]"): that must be an error, not an abort.
[[noreturn]] void toml_assertion_failed();
}  // namespace cuco

#define TOML_ASSERT(belief)                         \
  do {                                              \
    if (!(belief)) ::cuco::toml_assertion_failed(); \
  } while (false)
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

namespace cuco {

/// An error starts with "name:line: ".
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view name);

}  // namespace cuco
