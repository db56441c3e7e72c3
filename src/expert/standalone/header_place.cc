// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/header_place.h"

#include <optional>

#include <fmt/format.h>

#include "expert/emit/emit.h"

namespace cuco::expert {
namespace {

std::size_t end_of_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

std::size_t place_of_include(std::string_view text, const std::vector<program::Identifier>& names) {
  std::optional<std::size_t> first;
  for (const program::Identifier& name : names) {
    if (name.name != "include") continue;
    const std::size_t end = end_of_line(text, name.begin);
    if (!first) first = end;
    if (text.substr(name.begin, end - name.begin).find("nccl.h") != std::string_view::npos)
      return end;
  }
  return first.value_or(0);
}

std::string include_line(std::string_view header) {
  return fmt::format("#include \"{}\"\n", header);
}

void replace_once(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), by);
}

std::string headers_as_text(std::string_view collectives) {
  std::string text(collectives);
  replace_once(text, "#pragma once\n", "");
  std::string device(emit::device_header());
  replace_once(device, "#pragma once\n", "");
  replace_once(text, include_line(emit::kDeviceHeaderName), device);
  return text;
}

}  // namespace cuco::expert
