// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words of a candidate (its stderr, its compiler errors) as a person may safely see them.
#pragma once

#include <string>
#include <string_view>

namespace cuco::toolchain {

/// Control characters other than line ends and tabs are replaced: a terminal would obey them, and
/// what a candidate wrote could look like a verdict. So is what is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cuco::toolchain
