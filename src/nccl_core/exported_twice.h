// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every function is exported twice, as pncclX and as its weak alias ncclX, so that profilers can
/// interpose the latter as they do with the real library.
#pragma once

// NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists cannot be parenthesised.
#define CUCO_NCCL_EXPORT(type, name, parameters)                                                  \
  extern "C" __attribute__((visibility("default"))) type p##name parameters;                      \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) type name parameters; \
  type p##name parameters
// NOLINTEND(bugprone-macro-parentheses)
