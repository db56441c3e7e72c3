// SPDX-License-Identifier: Apache-2.0
/// \file
/// The frame of every page, and the one way by which foreign text gets into it.
#pragma once

#include <string>
#include <string_view>

namespace cuco::report {

/// Everything that came from a program, a model or a person goes through here.
[[nodiscard]] std::string escaped(std::string_view text);

/// A self-contained page without scripts, so that a report can be mailed; a live one reloads
/// itself. Title is plain text, body is HTML.
[[nodiscard]] std::string framed(std::string_view title, std::string_view body, bool live = false);

}  // namespace cuco::report
