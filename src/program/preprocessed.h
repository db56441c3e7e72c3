// SPDX-License-Identifier: Apache-2.0
/// \file
/// Frozen code as the compiler sees it. The source is compiled with an unguessable mark in the
/// place of each region's first and last line; in what the compiler's preprocessor has made of it,
/// the marks say which tokens come from frozen lines and which from regions, whatever macros,
/// literals, comments and conditions a region contains. No lexer but the compiler's has to be
/// right.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::program {

/// The source with _Pragma("cuco_mark_SECRET_N") in place of the marker lines; lines stay where
/// they are.
[[nodiscard]] Result<std::string> mark_regions(std::string_view source, std::string_view secret);

/// What one pass of the compiler (host or device) has seen.
struct FrozenText {
  /// Tokens of each stretch of frozen code, with those of our own headers that it includes.
  std::vector<std::string> stretches;
  /// What a region does that none may: swallow a mark, stay open, name an entry point, rename a
  /// symbol. Empty: nothing.
  std::string trouble;
  bool operator==(const FrozenText&) const = default;
};

/// `regions`: how many there are. `headers`: the folder of our own.
[[nodiscard]] FrozenText read_preprocessed(std::string_view output,
                                           std::string_view secret,
                                           std::size_t regions,
                                           std::string_view headers);

/// A directive that claims another file or line for what follows; nothing honest needs one.
[[nodiscard]] bool has_line_directive(std::string_view source);

/// Where they first differ, for a person: what there is, and what the seed has.
struct FrozenDifference {
  std::string is;
  std::string was;
};
[[nodiscard]] std::optional<FrozenDifference> first_difference(const FrozenText& seed,
                                                               const FrozenText& candidate);

}  // namespace cuco::program
