// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUCO_ASSERT: a belief about our own code, checked in every build. A failure is a bug, never an
/// input error.
#pragma once

namespace cuco {

/// Prints what was believed and where, then aborts.
[[noreturn]] void assertion_failed(const char* belief, const char* file, int line);

}  // namespace cuco

#define CUCO_ASSERT(condition)                                                  \
  do {                                                                          \
    if (!(condition)) ::cuco::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (false)
