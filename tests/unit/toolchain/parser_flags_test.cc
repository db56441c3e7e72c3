// SPDX-License-Identifier: Apache-2.0
#include "toolchain/parser_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::toolchain {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ParserFlags, TakeMacrosFoldersAndTheStandardInEverySpelling) {
  EXPECT_THAT(parser_flags({"-std=c++20"}), ElementsAre("-std=c++20"));
  EXPECT_THAT(parser_flags({"--std", "c++20"}), ElementsAre("-std=c++20"));
  EXPECT_THAT(parser_flags({"-DN=4", "-D", "M=2", "--define-macro=A,B=1"}),
              ElementsAre("-DN=4", "-DM=2", "-DA", "-DB=1"));
  EXPECT_THAT(parser_flags({"-Iinclude", "-I", "more", "--include-path=x,y", "-UN"}),
              ElementsAre("-Iinclude", "-Imore", "-Ix", "-Iy", "-UN"));
  EXPECT_THAT(parser_flags({"-isystem", "a", "--pre-include=first.h"}),
              ElementsAre("-isystema", "-includefirst.h"));
}

TEST(ParserFlags, LeaveOutWhatDoesNotChangeTheText) {
  EXPECT_THAT(parser_flags({"-O3", "-arch=sm_90", "-lnccl", "--expt-relaxed-constexpr", "-lineinfo",
                            "-Xcompiler", "-fopenmp", "-D"}),
              IsEmpty());
}

}  // namespace
}  // namespace cuco::toolchain
