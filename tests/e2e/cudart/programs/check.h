// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: a check that names its line.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                  \
  do {                                                    \
    if (!(condition)) {                                   \
      std::printf("line %d: %s\n", __LINE__, #condition); \
      std::exit(1);                                       \
    }                                                     \
  } while (false)
#define OK(call) CHECK((call) == cudaSuccess)
#define FAILS(code, call)                \
  do {                                   \
    CHECK((call) == (code));             \
    CHECK(cudaGetLastError() == (code)); \
  } while (false)
