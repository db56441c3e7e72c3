// SPDX-License-Identifier: Apache-2.0
#include "program/source.h"

#include <algorithm>
#include <utility>

namespace cuco::program {

bool Files::operator==(const Files& other) const {
  return list_ == other.list_ || std::equal(begin(), end(), other.begin(), other.end());
}

Source::Source(std::vector<File> files)
    : files_(std::make_shared<const std::vector<File>>(std::move(files))) {}

std::shared_ptr<const File> Source::find(std::string_view path) const {
  const Files all = files();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const File& file) { return file.path == path; });
  if (found == all.end()) return nullptr;
  return {all.list_, found};
}

bool Source::operator==(const Source& other) const {
  return (stored_ != nullptr && stored_ == other.stored_) || files() == other.files();
}

Source single_file(std::string path, std::string text) {
  std::vector<File> files;
  files.push_back({std::move(path), std::move(text)});
  return Source(std::move(files));
}

}  // namespace cuco::program
