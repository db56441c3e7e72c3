// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration file as a flat list of keys and values, with lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::cli {

/// One "table.key = value" of a TOML file.
struct FileEntry {
  enum class Kind { Text, Integer, Number, Flag, List, Other };

  std::string key;
  Kind kind = Kind::Other;
  std::string value;  ///< As text, lists as join_words() writes them; empty for Other (dates).
  unsigned line = 0;
};

/// Reads TOML. An error starts with "name:line: ".
Result<std::vector<FileEntry>> parse_config_file(std::string_view text, std::string_view name);

}  // namespace cuco::cli
