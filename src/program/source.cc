// SPDX-License-Identifier: Apache-2.0
#include "program/source.h"

#include <algorithm>
#include <utility>

namespace cuco::program {

Source::Source(std::vector<File> files)
    : files_(std::make_shared<const std::vector<File>>(std::move(files))) {}

const std::vector<File>& Source::files() const {
  static const std::vector<File> none;
  return files_ == nullptr ? none : *files_;
}

const File* Source::find(std::string_view path) const {
  const auto& all = files();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const File& file) { return file.path == path; });
  return found == all.end() ? nullptr : &*found;
}

bool Source::operator==(const Source& other) const {
  return files_ == other.files_ || files() == other.files();
}

Source single_file(std::string path, std::string text) {
  std::vector<File> files;
  files.push_back({std::move(path), std::move(text)});
  return Source(std::move(files));
}

}  // namespace cuco::program
