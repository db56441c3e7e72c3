// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a test needs and a machine may lack. Where it is missing, the test is skipped and says so;
/// where CUCO_REQUIRE names it ("nvcc,fences,libclang,npm", as CI does), the test fails.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuco::tests {

/// Whether the environment variable CUCO_REQUIRE names it.
[[nodiscard]] bool is_required(std::string_view need);

/// Whether a toolkit is where cuco searches for one: PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda.
[[nodiscard]] bool has_nvcc();

}  // namespace cuco::tests

/// Leaves the test, as failed or as skipped, unless the condition `there` holds.
#define CUCO_NEEDS(need, there, why)                              \
  do {                                                            \
    if (there) break;                                             \
    if (cuco::tests::is_required(need))                           \
      FAIL() << "required, but missing: " << need << ": " << why; \
    GTEST_SKIP() << "missing: " << need << ": " << why;           \
  } while (false)

#define CUCO_NEEDS_NVCC() CUCO_NEEDS("nvcc", cuco::tests::has_nvcc(), "nothing can be compiled")
