// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program's source as a value.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::program {

struct File {
  std::string path;  ///< Relative to the program's folder.
  std::string text;
  bool operator==(const File&) const = default;
};

/// Immutable, and shared by its copies: a run keeps thousands of sources, and passes them around.
class Source {
 public:
  Source() = default;
  explicit Source(std::vector<File> files);

  [[nodiscard]] const std::vector<File>& files() const;
  [[nodiscard]] const File* find(std::string_view path) const;
  [[nodiscard]] bool empty() const { return files().empty(); }

  bool operator==(const Source& other) const;

 private:
  std::shared_ptr<const std::vector<File>> files_;  ///< Null: no files.
};

/// A source of one file.
[[nodiscard]] Source single_file(std::string path, std::string text);

}  // namespace cuco::program
