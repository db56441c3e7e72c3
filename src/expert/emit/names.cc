// SPDX-License-Identifier: Apache-2.0
#include "expert/emit/names.h"

#include <optional>

#include <fmt/format.h>

#include "base/assert.h"

namespace cuco::expert {

std::optional<std::string_view> resource(std::string_view name);

namespace emit {

std::string path_of(design::Backend backend) {
  switch (backend) {
    case design::Backend::Gin:
      return "cuco::Path::Gin";
    case design::Backend::Multimem:
      return "cuco::Path::Multimem";
    case design::Backend::Hybrid:
      return "cuco::Path::Hybrid";
    default:
      return "cuco::Path::Lsa";
  }
}

std::string beside(const std::string& site, std::string_view suffix) {
  return fmt::format("{}_{}", site, suffix);
}

std::string last_name(const std::string& expression) {
  const auto dot = expression.find_last_of(".>");
  return dot == std::string::npos ? expression : expression.substr(dot + 1);
}

SharedBuffer shared_buffer(const Expressions& expressions,
                           const std::string& pointer,
                           std::string_view suffix) {
  const auto window = beside(expressions.site, suffix);
  return {.pointer = pointer,
          .member = fmt::format("cuco::Window {};", last_name(window)),
          .allocate = fmt::format("cuco::allocate({}, &{}, {{bytes}}, &{})", expressions.comm,
                                  pointer, window),
          .release = fmt::format("cuco::release({}, {})", expressions.comm, window)};
}

std::string_view header(std::string_view file) {
  const auto text = resource(file);
  CUCO_ASSERT(text.has_value());
  return *text;
}

}  // namespace emit
}  // namespace cuco::expert
