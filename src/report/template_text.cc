// SPDX-License-Identifier: Apache-2.0
#include "report/template_text.h"

#include <optional>

#include "base/assert.h"

namespace cuco::report {

std::optional<std::string_view> resource(std::string_view name);

std::string filled(std::string_view name, const std::map<std::string, std::string>& values) {
  const auto found = resource(name);
  CUCO_ASSERT(found.has_value());
  std::string_view rest = *found;
  std::string text;
  for (auto open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
    const auto close = rest.find("}}", open);
    CUCO_ASSERT(close != std::string_view::npos);
    const auto value = values.find(std::string(rest.substr(open + 2, close - open - 2)));
    CUCO_ASSERT(value != values.end());
    text += rest.substr(0, open);
    text += value->second;
    rest.remove_prefix(close + 2);
  }
  return text += rest;
}

}  // namespace cuco::report
