// SPDX-License-Identifier: Apache-2.0
#include "toolchain/printable.h"

#include <gtest/gtest.h>

namespace cuco::toolchain {
namespace {

TEST(Printable, ACandidateCannotDriveATerminal) {
  EXPECT_EQ(printable("plain\ttext\n"), "plain\ttext\n");
  EXPECT_EQ(printable("\x1b[2K\rdone \x7f"), "?[2K?done ?");
  EXPECT_EQ(printable("\xe2\x9c\x93 \xc3\x28 \xff"), "\xe2\x9c\x93 ?( ?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xc2\xa0"),
            "?31m \xc2\xa0");
  EXPECT_EQ(printable("cut \xe2\x9c"), "cut ??");
}

}  // namespace
}  // namespace cuco::toolchain
