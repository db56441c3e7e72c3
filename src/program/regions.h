// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evolve regions: the parts of a file that a candidate may change. Everything else is frozen.
///
///     // cuco: evolve begin NAME
///     …                              may change
///     // cuco: evolve end
///
/// Markers stand alone on their line, do not nest, and names are unique in a file. The marker lines
/// themselves are frozen. CUCo's `// EVOLVE-BLOCK-START` and `// EVOLVE-BLOCK-END` are markers,
/// too, of regions called "block 1", "block 2", …; where they do not pair up they are comments.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::program {

struct Region {
  std::string name;
  std::size_t begin = 0;  ///< Offset of the first byte after the begin line.
  std::size_t end = 0;    ///< Offset of the first byte of the end line.
  int first_line = 0;     ///< Line number of the begin marker, from 1.
};

/// The regions in file order. A file without markers has none.
[[nodiscard]] Result<std::vector<Region>> find_regions(std::string_view text);

/// The text between the markers of a new region. It must not hold markers itself.
[[nodiscard]] std::string as_region(std::string_view name, std::string_view text);

struct Replacement {
  std::string region;
  std::string body;  ///< Without markers; a missing final newline is added.
};

/// Puts each body in the place of its region's. Unknown names and bodies with markers are refused.
[[nodiscard]] Result<std::string> replace_regions(std::string_view text,
                                                  std::span<const Replacement> replacements);

/// The first frozen line that differs.
struct FrozenEdit {
  int line = 0;  ///< In the edited text, from 1.
  std::string was;
  std::string is;
};

/// Compares everything outside the regions byte for byte. The regions have to be the same ones in
/// the same order. An original without regions freezes nothing.
[[nodiscard]] Result<std::optional<FrozenEdit>> find_frozen_edit(std::string_view original,
                                                                 std::string_view edited);

}  // namespace cuco::program
