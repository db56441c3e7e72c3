// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

namespace cuco {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(printable("plain\ttext\n"), "plain\ttext\n");
  EXPECT_EQ(printable("\xe2\x9c\x93 \xc3\xa9"), "\xe2\x9c\x93 \xc3\xa9");
}

TEST(Printable, WhatATerminalObeysIsShownInstead) {
  EXPECT_EQ(printable("\x1b[2K\rdone \x7f"), "\\u001b[2K\\u000ddone \\u007f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("\u202e"), "\\u202e");
}

TEST(Printable, WhatIsNotUtf8IsShownByteByByte) {
  EXPECT_EQ(printable("\xc3\x28 \xff"), "\\u00c3( \\u00ff");
  EXPECT_EQ(printable("cut \xe2\x9c"), "cut \\u00e2\\u009c");
}

}  // namespace
}  // namespace cuco
