// SPDX-License-Identifier: Apache-2.0
#include "program/source.h"

#include <algorithm>
#include <utility>

namespace cuco::program {

const File* Source::find(std::string_view path) const {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const File& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

File* Source::find(std::string_view path) {
  return const_cast<File*>(std::as_const(*this).find(path));
}

Source single_file(std::string path, std::string text) {
  Source source;
  source.files.push_back({std::move(path), std::move(text)});
  return source;
}

}  // namespace cuco::program
