// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/type_spelling.h"

#include <algorithm>

#include "base/text.h"

namespace cuco::analysis {

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_pointer(std::string_view type) {
  return type.ends_with('*') || type.ends_with("*const") || type.ends_with("*__restrict");
}

bool is_array(std::string_view type) {
  return type.ends_with(']');
}

bool is_number(std::string_view type) {
  return is_any_of(type, {"int", "unsigned int", "long", "unsigned long", "long long",
                          "unsigned long long", "short", "float", "double", "bool", "char",
                          "unsigned char", "void", "signed char", "unsigned short"});
}

bool is_smart_pointer(std::string_view type) {
  return type.find("unique_ptr<") != std::string_view::npos ||
         type.find("shared_ptr<") != std::string_view::npos ||
         type.find("optional<") != std::string_view::npos;
}

std::string class_of(std::string_view type) {
  std::string name;
  for (const std::string_view word : split(type, ' ')) {
    if (!is_any_of(word, {"const", "struct", "class", "*", "&", "*const", ""})) name = word;
  }
  while (name.ends_with('*') || name.ends_with('&'))
    name.pop_back();
  const auto scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace cuco::analysis
