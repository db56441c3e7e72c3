// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a hostile program says what became of it: 0 it got through, 10 it was refused.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

[[noreturn]] inline void got_through(const char* what) {
  std::printf("GOT THROUGH: %s\n", what);
  std::fflush(stdout);
  ::_exit(0);
}

[[noreturn]] inline void refused(const char* what) {
  std::printf("refused: %s: %s\n", what, std::strerror(errno));
  std::fflush(stdout);
  ::_exit(10);
}
