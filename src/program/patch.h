// SPDX-License-Identifier: Apache-2.0
/// \file
/// Patches: edits as models write them.
///
///     <<<<<<< SEARCH
///     lines as they are
///     =======
///     lines as they should be; none: the others go
///     >>>>>>> REPLACE
///
/// What is searched for has to be there exactly once in what may change: a patch that could mean
/// two places means neither.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::program {

struct Hunk {
  std::string search;  ///< Whole lines.
  std::string replace;
  bool operator==(const Hunk&) const = default;
};

/// Whether the line opens a hunk.
[[nodiscard]] bool opens_hunk(std::string_view line);

/// The hunk that opens at `lines[*at]`; moves `at` behind it. Marks may be longer or shorter than
/// seven signs, and code fences inside are left out. An Error where it is not closed: an answer was
/// cut off.
[[nodiscard]] Result<Hunk> read_hunk(const std::vector<std::string_view>& lines, std::size_t* at);

/// All hunks of a text, in order, whatever stands between them.
[[nodiscard]] Result<std::vector<Hunk>> find_hunks(std::string_view text);

/// The text with all hunks applied, each to what the ones before gave, or the first that cannot be:
/// the error says which, and what comes nearest. Ends of lines and blanks before them do not count;
/// where nothing matches as it is, neither does indentation, and the new lines get the one of the
/// old. Outside of evolve regions nothing is found, unless the text has none. Refuses more than 500
/// edits, and what grows beyond 1 MiB (or four times the text).
[[nodiscard]] Result<std::string> apply_hunks(std::string_view text, std::span<const Hunk> hunks);

}  // namespace cuco::program
