// SPDX-License-Identifier: Apache-2.0
#include "dashboard/web_files.h"

#include <filesystem>

#include <fmt/format.h>

namespace cuco::dashboard {
namespace {

std::string type_of(const system::Path& path) {
  const auto extension = path.extension();
  if (extension == ".html") return "text/html; charset=utf-8";
  if (extension == ".js") return "text/javascript; charset=utf-8";
  if (extension == ".css") return "text/css; charset=utf-8";
  if (extension == ".svg") return "image/svg+xml";
  return "application/octet-stream";
}

}  // namespace

Result<WebFiles> WebFiles::load(const system::Path& folder) {
  WebFiles made;
  std::error_code code;
  for (std::filesystem::recursive_directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    if (!at->is_regular_file(code)) continue;
    CUCO_TRY_ASSIGN(std::string bytes, system::read_file(at->path()));
    made.files_["/" + at->path().lexically_relative(folder).generic_string()] = {
        type_of(at->path()), std::move(bytes)};
  }
  if (code) {
    return Error{ErrorKind::Io, fmt::format("read '{}': {}", folder.string(), code.message())};
  }
  return made;
}

const WebFile* WebFiles::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace cuco::dashboard
