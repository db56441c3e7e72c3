// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words that somebody else wrote (a candidate, its compiler, its kernels' names), as a person may
/// safely see them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuco {

/// Control characters other than line ends and tabs are written as JSON writes them ("\u001b"): a
/// terminal would obey them, and what a candidate wrote could look like a verdict. So are bytes
/// that are not UTF-8. What is printable stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cuco
