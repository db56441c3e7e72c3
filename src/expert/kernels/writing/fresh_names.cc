// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/fresh_names.h"

#include <cctype>

namespace cuco::expert::kernels {

FreshNames::FreshNames(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      taken_.insert(std::move(word));
      word.clear();
    }
  }
  taken_.insert(word);
}

std::string FreshNames::make(const std::string& wanted) {
  std::string name = wanted;
  for (int number = 2; !taken_.insert(name).second; ++number)
    name = wanted + std::to_string(number);
  return name;
}

}  // namespace cuco::expert::kernels
