// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the dashboard answers, without the network: a path in, a page out.
#pragma once

#include <string>
#include <string_view>

#include "system/os/files.h"

namespace cuco::dashboard {

struct Answer {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
};

/// "/", "/runs/NAME", "/api/runs", "/api/runs/NAME". Read per request, also while a search writes.
[[nodiscard]] Answer answer(const system::Path& root, std::string_view path);

}  // namespace cuco::dashboard
