// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names for new variables that the program does not use yet.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cuco::expert::kernels {

class FreshNames {
 public:
  /// Avoids every identifier of `text`.
  explicit FreshNames(std::string_view text);

  /// `wanted`, or with the first number behind it that makes it new.
  [[nodiscard]] std::string make(const std::string& wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace cuco::expert::kernels
