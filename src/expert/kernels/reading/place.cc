// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/place.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace cuco::expert::kernels {

using analysis::Expression;
using analysis::ExpressionKind;

std::optional<Place> read_place(const Expression& expression) {
  if (expression.kind == ExpressionKind::Index)
    return Place{&expression.operands[0], &expression.operands[1]};
  if (expression.kind != ExpressionKind::Unary || expression.name != "*") return std::nullopt;
  const auto& address = expression.operands[0];
  if (address.kind != ExpressionKind::Binary || address.name != "+")
    return Place{&address, nullptr};
  const bool second = address.operands[1].type.ends_with("*");
  return Place{&address.operands[second ? 1 : 0], &address.operands[second ? 0 : 1]};
}

std::string element_type(std::string type) {
  if (const auto bracket = type.rfind('['); bracket != std::string::npos) type.erase(bracket);
  while (!type.empty() && (type.back() == '*' || type.back() == ' '))
    type.pop_back();
  if (type.starts_with("const ")) type.erase(0, 6);
  return type;
}

std::string written_type(std::string_view declaration, std::string_view name) {
  std::string type(trim(declaration));
  if (!type.ends_with(name)) return "";
  type.erase(type.size() - name.size());
  for (const std::string_view word : {"__restrict__", "__restrict", "const"}) {
    for (auto at = type.find(word); at != std::string::npos; at = type.find(word))
      type.erase(at, word.size());
  }
  if (std::ranges::count(type, '*') != 1) return "";
  type.erase(type.find('*'), 1);
  type = std::string(trim(type));
  return type.find_first_of("*&([,=") == std::string::npos && type != "auto" ? type : "";
}

int root_of(const Expression& expression) {
  const Expression* at = &expression;
  while (at->kind != ExpressionKind::Variable && !at->operands.empty())
    at = &at->operands[0];
  return at->kind == ExpressionKind::Variable ? at->variable : -1;
}

int bytes_of_type(std::string_view canonical) {
  static const std::map<std::string_view, int> kBytes = {{"char", 1},
                                                         {"signed char", 1},
                                                         {"unsigned char", 1},
                                                         {"bool", 1},
                                                         {"short", 2},
                                                         {"unsigned short", 2},
                                                         {"__half", 2},
                                                         {"__nv_bfloat16", 2},
                                                         {"int", 4},
                                                         {"unsigned int", 4},
                                                         {"float", 4},
                                                         {"__half2", 4},
                                                         {"__nv_bfloat162", 4},
                                                         {"long", 8},
                                                         {"unsigned long", 8},
                                                         {"long long", 8},
                                                         {"unsigned long long", 8},
                                                         {"double", 8},
                                                         {"float2", 8},
                                                         {"int2", 8},
                                                         {"uint2", 8}};
  const auto found = kBytes.find(canonical);
  return found == kBytes.end() ? 0 : found->second;
}

}  // namespace cuco::expert::kernels
