// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace cuco {

void assertion_failed(const char* belief, const char* file, int line) {
  std::fprintf(stderr, "cuco: bug: %s:%d: expected %s\n", file, line, belief);
  std::abort();
}

}  // namespace cuco
