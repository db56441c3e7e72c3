// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program's source as a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuco::program {

struct File {
  std::string path;  ///< Relative to the program's folder.
  std::string text;
  bool operator==(const File&) const = default;
};

struct Source {
  std::vector<File> files;

  [[nodiscard]] const File* find(std::string_view path) const;
  [[nodiscard]] File* find(std::string_view path);

  bool operator==(const Source&) const = default;
};

/// A source of one file.
[[nodiscard]] Source single_file(std::string path, std::string text);

}  // namespace cuco::program
