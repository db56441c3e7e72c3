// SPDX-License-Identifier: Apache-2.0
/// \file
/// The built pages, in memory: what is not among them cannot be asked for, wherever a path leads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::dashboard {

struct WebFile {
  std::string type;
  std::string bytes;
};

class WebFiles {
 public:
  WebFiles() = default;
  /// Every file of the folder, by its path from there: "/index.html".
  [[nodiscard]] static Result<WebFiles> load(const system::Path& folder);

  [[nodiscard]] const WebFile* find(std::string_view path) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  std::map<std::string, WebFile, std::less<>> files_;
};

}  // namespace cuco::dashboard
