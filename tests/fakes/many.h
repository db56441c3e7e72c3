// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often to repeat what one repetition says little about: seldom in everyday tests.
#pragma once

#include <cstdlib>

namespace cuco::fakes {

[[nodiscard]] inline int few_or_many(int few, int many) {
  return std::getenv("CUCO_MANY") == nullptr ? few : many;
}

}  // namespace cuco::fakes
