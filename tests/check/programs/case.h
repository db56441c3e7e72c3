// SPDX-License-Identifier: Apache-2.0
// Picks the case that the command line names. A name that no `is` asked for fails the program.
#pragma once

#include <cstdio>
#include <cstring>

class Case {
 public:
  Case(int argc, char** argv) : name_(argc > 1 ? argv[1] : "") {}
  bool is(const char* name) {
    const bool same = std::strcmp(name, name_) == 0;
    known_ = known_ || same;
    return same;
  }
  int end() const {
    if (!known_) std::fprintf(stderr, "no such case: %s\n", name_);
    return known_ ? 0 : 2;
  }

 private:
  const char* name_;
  bool known_ = false;
};
